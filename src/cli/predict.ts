// hookline predict: a model's outputs for every sample of a part of the data.
import { printOut } from "../platform/print.ts";
import { writeFileSync } from "node:fs";
import { extname } from "node:path";
import { encodePredictions, PREDICTION_ENDINGS } from "./lib/predictions.ts";
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
  const ending = out === undefined ? ".jsonl" : extname(out).toLowerCase();
  if (!PREDICTION_ENDINGS.includes(ending))
    throw new UsageError(`${out} does not say what to write. End it in ${PREDICTION_ENDINGS.join(", ")}.`);
  if (out !== undefined) checkNewFile(out, overwrite);
  const giveStdoutBack = keepStdoutFree();
  try {
    const { training, loader, from } = await openTrained(runDir, wanted);
    const outputs = await running(() => training.closing(() => training.trainer.predict(loader)));
    giveStdoutBack();
    const written = encodePredictions(ending, outputs);
    if (out === undefined) printOut(written as string);
    else writeFileSync(out, written, { flag: overwrite ? "w" : "wx" });
    say(`${out === undefined ? "" : `${out}: `}outputs for ${wanted.on}, of ${shownPath(from)}`);
  } finally {
    giveStdoutBack();
  }
}
