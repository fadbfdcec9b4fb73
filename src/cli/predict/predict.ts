// hookline predict: a model's outputs for every sample of a part of its data, or for the rows of a file.
import { extname } from "node:path";
import { PredictionRows } from "../../hooks/prediction-writer/prediction-file.ts";
import { PREDICTION_ENDINGS, predictionWriter } from "../../hooks/prediction-writer/prediction-writer.ts";
import { printOut } from "../../platform/print.ts";
import { UsageError, checkNewFile, running } from "../errors.ts";
import { keepStdoutFree, say, shownPath } from "../output.ts";
import { predictFile } from "./predict-file.ts";
import { openTrained, type Wanted } from "../trained-model.ts";
import { Option } from "commander";
import { type CommandDescription, checkpointFlag, modelFlag } from "../command.ts";

export const command: CommandDescription = {
  examples: `predict runs/churn new.csv --out predictions.csv
predict runs/digits --out predictions.safetensors
predict runs/digits --on val --out val.csv
predict runs/digits --checkpoint last > predictions.jsonl`,
  flags: (program) =>
    program
      .argument("<path>", "a run's directory; with a file, also a checkpoint or an exported folder")
      .argument("[file]", "new rows: .csv, .tsv, .jsonl, .parquet or .arrow")
      .addOption(checkpointFlag())
      .addOption(new Option("--on <part>", "the run's own data; default: test").choices(["test", "val", "train"]))
      .option(
        "--out <file>",
        ".safetensors, .csv or .jsonl (of a file: .csv, .tsv or .jsonl); default: JSON lines on stdout",
      )
      .option("--overwrite", "replace an existing file")
      .addOption(modelFlag()),
};

interface Flags extends Omit<Wanted, "on"> {
  readonly on?: Wanted["on"];
  readonly out?: string;
  readonly overwrite?: boolean;
}

export async function run(path: string, file: string | undefined, { on, ...flags }: Flags): Promise<void> {
  if (file === undefined) return predictData(path, { ...flags, on: on ?? "test" });
  if (on !== undefined) throw new UsageError(`Give a file or --on ${on}, not both.`);
  return predictFile(path, file, flags);
}

async function predictData(runDir: string, { out, overwrite, ...wanted }: Flags & Wanted): Promise<void> {
  if (out !== undefined) {
    if (!PREDICTION_ENDINGS.includes(extname(out).toLowerCase()))
      throw new UsageError(
        `${out} has no known format. Its extension must be one of ${PREDICTION_ENDINGS.join(", ")}.`,
      );
    checkNewFile(out, overwrite);
  }
  const giveStdoutBack = keepStdoutFree();
  try {
    const { training, loader, from } = await openTrained(runDir, wanted);
    const { trainer } = training;
    if (out === undefined) {
      const outputs = await running(() => training.closing(() => trainer.predict(loader)));
      giveStdoutBack();
      printOut(new PredictionRows("jsonl").rows(outputs));
    } else {
      trainer.hooks.add(predictionWriter({ name: "predictions", file: out, overwrite: overwrite ?? false }));
      await running(() => training.closing(() => trainer.predict(loader, { collect: false })));
      giveStdoutBack();
    }
    say(`${out === undefined ? "" : `${out}: `}outputs for ${wanted.on}, of ${shownPath(from)}`);
  } finally {
    giveStdoutBack();
  }
}
