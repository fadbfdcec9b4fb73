// What the browser test runs inside a page: predictors from an address and from the browser's own files.
import { loadPredictor, type InputRow, type LoadProgress, type Prediction } from "hookline/predict";

export interface PagePredictions {
  readonly engine: string;
  readonly predictions: readonly Prediction[];
  readonly progress: readonly LoadProgress[];
  /** The message for a row with a string where a number belongs. */
  readonly refused: string;
}

async function predictAll(
  from: string | FileSystemDirectoryHandle,
  engine: "wasm" | "webgpu",
  rows: readonly InputRow[],
): Promise<PagePredictions> {
  const progress: LoadProgress[] = [];
  const predict = await loadPredictor(from, { engine, onProgress: (each) => void progress.push(each) });
  // One by one, all at the same time: they are batched here too.
  const predictions = await Promise.all(rows.map((row) => predict(row)));
  const refused = await predict({ ...rows[0], age: "old" }).then(
    () => "",
    (error: unknown) => (error as Error).message,
  );
  await predict.close();
  return { engine: predict.engine, predictions, progress, refused };
}

/** Copies the exported folder into the origin's private file system, and loads it from there. */
async function predictFromFiles(from: string, rows: readonly InputRow[]): Promise<PagePredictions> {
  const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("churn", { create: true });
  for (const name of ["model.json", "weights.safetensors"]) {
    const file = await (await folder.getFileHandle(name, { create: true })).createWritable();
    await file.write(await (await fetch(`${from}/${name}`)).arrayBuffer());
    await file.close();
  }
  return predictAll(folder, "wasm", rows);
}

export interface PredictPage {
  predictAll: typeof predictAll;
  predictFromFiles: typeof predictFromFiles;
}

Object.assign(globalThis, { predictAll, predictFromFiles } satisfies PredictPage);
