// Flags of the commands that write text.
import { type Command, InvalidArgumentError } from "commander";
import type { GenerateOptions } from "../../lm/generate/options.ts";
import { checkpointFlag, wholeFrom } from "../command.ts";
import { engineFlag } from "./flags.ts";

export interface GenerationFlags extends Pick<GenerateOptions, "maxTokens" | "temperature" | "topP" | "topK" | "seed"> {
  readonly checkpoint: string;
  readonly engine?: string;
}

const nonNegative = (text: string): number => {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value >= 0) return value;
  throw new InvalidArgumentError("Expected a number ≥ 0.");
};

export const generationFlags = (program: Command): Command =>
  program
    .addOption(checkpointFlag())
    .option(
      "--max-tokens <n>",
      "the most tokens of a text; default: 256, or what the model's context leaves",
      wholeFrom(1),
    )
    .option(
      "--temperature <t>",
      "0 takes the most likely token each time; default: as the model's authors do",
      nonNegative,
    )
    .option("--top-p <p>", "draw only from the most likely tokens that add up to this", nonNegative)
    .option("--top-k <k>", "draw only from the k most likely tokens", wholeFrom(1))
    .option("--seed <n>", "the same seed gives the same text", wholeFrom(0))
    .addOption(engineFlag());

export const generateOptions = ({ maxTokens, temperature, topP, topK, seed }: GenerationFlags): GenerateOptions => ({
  ...(maxTokens !== undefined && { maxTokens }),
  ...(temperature !== undefined && { temperature }),
  ...(topP !== undefined && { topP }),
  ...(topK !== undefined && { topK }),
  ...(seed !== undefined && { seed }),
});
