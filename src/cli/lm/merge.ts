// hookline merge: a fine-tuned model as a folder that transformers and PEFT load.
import { type Command, Option } from "commander";
import { saveModel } from "../../lm/save/save-model.ts";
import { type CommandDescription, checkpointFlag } from "../command.ts";
import { UsageError } from "../errors.ts";
import { print, shownPath, typed } from "../output.ts";
import { openModel } from "./open-model.ts";

export const command: CommandDescription = {
  examples: `merge runs/support out/support
merge runs/support out/support --dtype BF16
merge runs/support out/adapter --adapter`,
  flags: (program: Command) =>
    program
      .argument("<model>", "a run of finetune, or the folder of an adapter")
      .argument("<out>", "the folder that is written")
      .addOption(checkpointFlag())
      .addOption(new Option("--dtype <type>", "the type of the numbers").choices(["F32", "F16", "BF16"]).default("F32"))
      .option("--adapter", "save the adapter alone, as PEFT does")
      .option("--overwrite", "replace a model that is in the folder"),
};

interface Flags {
  readonly checkpoint: string;
  readonly dtype: "F32" | "F16" | "BF16";
  readonly adapter?: boolean;
  readonly overwrite?: boolean;
}

export async function run(given: string, out: string, flags: Flags): Promise<void> {
  const { checkpoint, dtype, adapter = false, overwrite = false } = flags;
  const { model, trainer, from } = await openModel(given, { checkpoint });
  try {
    if (adapter && !model.adapter)
      throw new UsageError(`${given} has no adapter: all of it was trained. Leave out --adapter.`);
    const merge = model.adapter !== undefined && !adapter;
    const { files, difference } = await saveModel(trainer, out, { merge, dtype, overwrite });
    const bytes = Object.values(files).reduce((sum, size) => sum + size, 0);
    print(
      `${from} → ${shownPath(out)}: ${Object.keys(files).length} files, ${size(bytes)}. ` +
        (difference === 0
          ? "Read again, it gives the same logits."
          : `Read again, its logits differ by ${difference.toPrecision(2)} of their size.`) +
        (merge ? `\nTalk to it: ${typed(`chat ${out}`)}` : ""),
    );
  } finally {
    await trainer.close();
  }
}

const size = (bytes: number): string =>
  bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
