// hookline predict: a model's outputs for every sample of a part of the data.
import { extname } from "node:path";
import { PredictionRows } from "../hooks/prediction-writer/prediction-file.ts";
import { PREDICTION_ENDINGS } from "../hooks/prediction-writer/prediction-writer.ts";
import { predictionWriter } from "../hooks/prediction-writer/prediction-writer.ts";
import { printOut } from "../platform/print.ts";
import { running, UsageError } from "./lib/exit.ts";
import { checkNewFile } from "./lib/new-file.ts";
import { keepStdoutFree, say } from "./lib/output.ts";
import { shownPath } from "./lib/shown-path.ts";
import { openTrained, type Wanted } from "./lib/trained.ts";

interface Flags extends Wanted {
  readonly out?: string;
  readonly overwrite?: boolean;
}

export async function run(runDir: string, { out, overwrite, ...wanted }: Flags): Promise<void> {
  if (out !== undefined) {
    if (!PREDICTION_ENDINGS.includes(extname(out).toLowerCase()))
      throw new UsageError(`${out} does not say what to write. End it in ${PREDICTION_ENDINGS.join(", ")}.`);
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
