// generation_config.json: where a model's texts end, and how its authors sample. Only what `generate` uses is read.
import { CheckpointError } from "../../core/errors.ts";
import { show } from "../../core/options.ts";

/** What a model's authors give for its generation. */
export interface GenerationDefaults {
  /** Tokens that end a text. */
  readonly eosTokenIds: readonly number[];
  readonly bosTokenId?: number;
  readonly padTokenId?: number;
  /** False: the most likely token each time. */
  readonly sample?: boolean;
  readonly temperature?: number;
  readonly topK?: number;
  readonly topP?: number;
  readonly minP?: number;
  readonly repetitionPenalty?: number;
}

const NUMBERS = {
  bosTokenId: "bos_token_id",
  padTokenId: "pad_token_id",
  temperature: "temperature",
  topK: "top_k",
  topP: "top_p",
  minP: "min_p",
  repetitionPenalty: "repetition_penalty",
} as const;

/** Reads them; what generation_config.json does not say, config.json may. `file` names it in errors. */
export function readGenerationDefaults(
  generation: Readonly<Record<string, unknown>>,
  config: Readonly<Record<string, unknown>>,
  file: string,
): GenerationDefaults {
  const given = (name: string): unknown =>
    generation[name] ?? (name.endsWith("_token_id") ? (config[name] ?? undefined) : undefined);
  const numberIn = (name: string, value: unknown): number => {
    if (typeof value === "number" && Number.isFinite(value)) return value;
    throw new CheckpointError(file, `\`${name}\` is ${show(value)}`, "It must be a number.");
  };
  const eos = given("eos_token_id");
  const list = eos === undefined ? [] : Array.isArray(eos) ? (eos as unknown[]) : [eos];
  const numbers = Object.entries(NUMBERS).flatMap(([key, name]) => {
    const value = given(name);
    return value === undefined ? [] : [[key, numberIn(name, value)] as const];
  });
  return {
    eosTokenIds: list.map((id) => numberIn("eos_token_id", id)),
    ...(typeof generation.do_sample === "boolean" && { sample: generation.do_sample }),
    ...Object.fromEntries(numbers),
  };
}
