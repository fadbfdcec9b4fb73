// predictionWriter: writes what `predict` finds out, batch by batch, into a file that appears when it is complete.
import { OptionError } from "../../core/errors.ts";
import type { Hook } from "../../core/hook.ts";
import { component } from "../../core/component.ts";
import { is } from "../../core/options.ts";
import type { PredictionFile } from "./prediction-file.ts";

/** Options of `predictionWriter`. */
export interface PredictionWriterOptions {
  /** Its ending says the form: `.jsonl` and `.csv` have a row for each sample, `.safetensors` the outputs as tensors. */
  readonly file: string;
  /** Whether a file of that name is replaced; otherwise it is an error. Default true. */
  readonly overwrite?: boolean;
  readonly name?: string;
}

/** The endings of files that can hold predictions. */
export const PREDICTION_ENDINGS: readonly string[] = [".jsonl", ".csv", ".safetensors"];

/**
 * Rows are written as they come: with `trainer.predict(loader, { collect: false })` the outputs are never all in memory.
 * Safetensors, whose header comes first, are kept until the end.
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
    throw new OptionError(`${name}: ${file} does not say what to write. End it in ${PREDICTION_ENDINGS.join(", ")}.`);
  let open: PredictionFile | undefined;

  return {
    name,
    stage: "logger",
    // Predictions that cannot be written are what the call was for.
    onError: "throw",
    ranks: "main",
    async onPredictBegin() {
      // Loaded here: formats of files are not part of what a browser downloads first.
      const { PredictionFile } = await import("./prediction-file.ts");
      open = await PredictionFile.open(name, file);
    },
    onPredictBatchEnd: (ctx) => open?.add(ctx.outputs),
    async onPredictEnd() {
      await open?.finish(overwrite);
      open = undefined;
    },
    async onClose() {
      // Only where `predict` failed.
      await open?.discard();
      open = undefined;
    },
  };
}
