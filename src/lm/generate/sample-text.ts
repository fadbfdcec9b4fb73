// sampleText: what the model writes after some prompts while it is trained.
import { checkCadence, type Cadence } from "../../core/cadence.ts";
import { component } from "../../core/component.ts";
import type { ContextOf } from "../../core/context.ts";
import { OptionError } from "../../core/errors.ts";
import type { Hook } from "../../core/hook.ts";
import { text } from "../../core/media.ts";
import { is } from "../../core/options.ts";
import { printLine } from "../../platform/print.ts";
import type { Message } from "../text/messages.ts";
import { GENERATION_CHECKS, type GenerateOptions } from "./options.ts";

/** Options of `sampleText`. */
export interface SampleTextOptions extends Omit<GenerateOptions, "signal"> {
  /** Default `sampleText`. */
  readonly name?: string;
  /** How often. Default: after each evaluation. */
  readonly every?: Cadence;
  /** The most tokens that are added to each prompt. Default 64. */
  readonly maxTokens?: number;
  /** Receives the texts. Default console.log. */
  readonly print?: (line: string) => void;
}

type SamplePrompt = string | readonly Message[];

/**
 * Writes what the model answers to prompts, or to conversations: after each evaluation or as often as `every` says, and at
 * the end of the training. The texts are printed, and logged as `sample/1`, `sample/2`, …; the training is not touched.
 * @example sampleText(["My parcel is late."], { every: "10%", maxTokens: 100 })
 */
export const sampleText = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "sampleText",
    takes: () => ({
      args: { prompts: is.arrayOf(is.or(is.name, is.array)) },
      options: {
        name: is.name,
        every: is.cadence,
        ...GENERATION_CHECKS,
        print: is.function,
      },
    }),
  },
  makeSampleText,
);

function makeSampleText(prompts: readonly SamplePrompt[], options: SampleTextOptions = {}): Hook {
  const { name = "sampleText", every, print = printLine, ...given } = options;
  if (prompts.length === 0) throw new OptionError(`${name}: \`prompts\` is empty. Give at least one.`);
  if (every !== undefined) checkCadence(`${name}: every`, every);
  const names = prompts.map((_, i) => `sample/${i + 1}`);
  /** The step of the last texts. */
  let written: number | undefined;

  const write = async (ctx: ContextOf<"stepEnd" | "evalEnd" | "trainEnd">): Promise<void> => {
    if (written === ctx.step) return;
    written = ctx.step;
    // Loaded when it is needed: a config that names the hook is checked without it.
    const { generate } = await import("./generate.ts");
    const texts = await generate(ctx, prompts, { maxTokens: 64, ...given }).text();
    const pairs = texts.map((answer, i) => [shown(prompts[i]!), answer] as const);
    for (const [prompt, answer] of pairs) print(`step ${ctx.step}: ${prompt} → ${answer}`);
    ctx.log(
      Object.fromEntries(pairs.map(([prompt, answer], i) => [names[i]!, text(`${quoted(prompt)}\n\n${answer}`)])),
    );
  };
  /** Only one process of a group writes. */
  const mainOnly = async (ctx: ContextOf<"stepEnd" | "evalEnd" | "trainEnd">): Promise<void> => {
    if (ctx.rank === 0) await write(ctx);
  };

  return {
    name,
    stage: "monitor",
    logs: names,
    ...(every === undefined ? { onEvalEnd: mainOnly } : { every, onStepEnd: mainOnly }),
    onTrainEnd: mainOnly,
  };
}

/** The text, or what the user has said last. */
const shown = (prompt: SamplePrompt): string => (typeof prompt === "string" ? prompt : (prompt.at(-1)?.content ?? ""));

/** As a quotation in Markdown. */
const quoted = (prompt: string): string => prompt.replaceAll(/^/gm, "> ");
