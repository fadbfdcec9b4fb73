// hookline export: a trained model in a folder that needs no training code.
import { Option } from "commander";
import { EXPORT_FORMATS, exportModel, type ExportFormat } from "../export/export-model.ts";
import { UsageError } from "./errors.ts";
import { isLanguageModel } from "./lm/is-language-model.ts";
import { type CommandDescription, checkpointFlag, jsonFlag } from "./command.ts";
import { print, printJson, say, shownPath, typed } from "./output.ts";

export const command: CommandDescription = {
  examples: `export runs/churn churn
export runs/churn churn-onnx --format onnx
export runs/churn churn-weights --format safetensors --checkpoint last`,
  flags: (program) =>
    program
      .argument("<runDir>", "the run's directory, a checkpoint, or an exported folder")
      .argument("<folder>", "the new folder")
      .addOption(new Option("--format <name>", "what to write").choices(EXPORT_FORMATS).default("hookline"))
      .addOption(checkpointFlag())
      .option("--overwrite", "replace an earlier export in the folder")
      .addOption(jsonFlag()),
};

interface Flags {
  readonly format: ExportFormat;
  readonly checkpoint: string;
  readonly overwrite?: boolean;
  readonly json?: boolean;
}

export async function run(runDir: string, folder: string, { json, ...options }: Flags): Promise<void> {
  if (isLanguageModel(runDir))
    throw new UsageError(
      `${runDir} is a language model, which \`${typed(`merge ${runDir} ${folder}`)}\` saves for transformers, or its adapter for PEFT.`,
    );
  const exported = await exportModel(shownPath(runDir), folder, options);
  if (json) return printJson(exported);
  say(`from ${exported.from}`);
  const shown = shownPath(exported.folder);
  for (const [name, bytes] of Object.entries(exported.files))
    print(`${shown}/${name}: ${bytes.toLocaleString("en-US")} bytes`);
}
