// hookline generate: continues a text with a language model.
import type { Command } from "commander";
import { generate } from "../../lm/generate/generate.ts";
import { type CommandDescription, nonEmpty } from "../command.ts";
import { running } from "../errors.ts";
import { printOut } from "../../platform/print.ts";
import { generateOptions, generationFlags, type GenerationFlags } from "./generation-flags.ts";
import { openModel } from "./open-model.ts";

export const command: CommandDescription = {
  examples: `generate models/SmolLM2-135M --prompt "Once upon a time"
generate runs/support --chat --prompt "My parcel is late." --max-tokens 100
generate runs/support --prompt "Dear customer," --temperature 0.8 --seed 7`,
  flags: (program: Command) =>
    generationFlags(
      program
        .argument("<model>", "a run of finetune, the folder of a model, or that of an adapter")
        .requiredOption("--prompt <text>", "what is continued", nonEmpty)
        .option("--chat", "the prompt is a message, and the model answers"),
    ),
};

interface Flags extends GenerationFlags {
  readonly prompt: string;
  readonly chat?: boolean;
}

export async function run(given: string, flags: Flags): Promise<void> {
  const { trainer } = await openModel(given, flags);
  const prompt = flags.chat ? [{ role: "user", content: flags.prompt }] : flags.prompt;
  await running(async () => {
    try {
      for await (const piece of generate(trainer, prompt, generateOptions(flags))) printOut(piece, false);
      printOut("\n", false);
    } finally {
      await trainer.close();
    }
  });
}
