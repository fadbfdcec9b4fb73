// predictionWriter: writes the outputs of `predict` (inference) to a JSONL, CSV or safetensors file.
import { OptionError } from "../../core/errors.ts";
import type { Hook } from "../../core/hook.ts";
import { component } from "../../core/component.ts";
import { is } from "../../core/options.ts";
import type { PredictionFile } from "./prediction-file.ts";

/** Options of `predictionWriter`. */
export interface PredictionWriterOptions {
  /** The extension chooses the format: `.jsonl` and `.csv` have a row per sample, `.safetensors` the outputs as tensors. */
  readonly file: string;
  /** Replace an existing file; false makes it an error. Default true. */
  readonly overwrite?: boolean;
  readonly name?: string;
}

/** The extensions of files that can hold predictions. */
export const PREDICTION_ENDINGS: readonly string[] = [".jsonl", ".csv", ".safetensors"];

/**
 * The file appears when it is complete. Rows are written batch by batch: with `trainer.predict(loader, { collect: false })`
 * the outputs are never all in memory. Safetensors are kept in memory until the end.
 * @example
 * trainer.hooks.add(predictionWriter({ file: "runs/digits/predictions.csv" }));
 * await trainer.predict(loader, { collect: false });
 */
export const predictionWriter = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "predictionWriter",
    takes: () => ({
      options: { file: is.pathToWrite, overwrite: is.boolean, name: is.name },
      required: ["file"],
    }),
  },
  makePredictionWriter,
);

function makePredictionWriter(options: PredictionWriterOptions): Hook {
  const { file, overwrite = true, name = "predictionWriter" } = options;
  if (!PREDICTION_ENDINGS.some((ending) => file.toLowerCase().endsWith(ending)))
    throw new OptionError(
      `${name}: ${file} has no known format. Its extension must be one of ${PREDICTION_ENDINGS.join(", ")}.`,
    );
  let open: PredictionFile | undefined;

  return {
    name,
    stage: "logger",
    // A prediction that cannot be written is an error, not a warning.
    onError: "throw",
    ranks: "main",
    async onPredictBegin() {
      // Loaded on demand: a browser's first download does not include file formats.
      const { PredictionFile } = await import("./prediction-file.ts");
      open = await PredictionFile.open(name, file);
    },
    onPredictBatchEnd: (ctx) => open?.add(ctx.outputs),
    async onPredictEnd() {
      await open?.finish(overwrite);
      open = undefined;
    },
    async onClose() {
      // Still open only if `predict` failed.
      await open?.discard();
      open = undefined;
    },
  };
}
