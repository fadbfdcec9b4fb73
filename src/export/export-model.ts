// The public function that exports a trained model. The code behind it is loaded when it is called: a page that predicts
// does not need it.
import { checkOptions, is } from "../core/options.ts";
import type { Signature } from "./model-file.ts";

export const EXPORT_FORMATS = ["hookline", "onnx", "safetensors"] as const;
/** What `exportModel` writes. */
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Options of `exportModel`. */
export interface ExportOptions {
  /**
   * `hookline` (default): for `loadPredictor`, in Node and in browsers. `onnx`: for onnxruntime and other programs.
   * `safetensors`: the weights alone, without the computation.
   */
  readonly format?: ExportFormat;
  /** Of a run: `best` (default) where a monitor says which that is, `last`, or the name of a checkpoint. */
  readonly checkpoint?: string;
  /** True replaces an earlier export in the folder; default false. */
  readonly overwrite?: boolean;
}

/** A model that was exported. */
export interface ExportedModel {
  readonly folder: string;
  /** Files that were written, with their sizes in bytes. */
  readonly files: Readonly<Record<string, number>>;
  /** Where the weights are from: `runs/churn, checkpoint step-000500 (best)`. */
  readonly from: string;
  readonly signature: Signature | undefined;
}

/**
 * Writes a trained model into a folder: its computation, weights, preprocessing and names.
 * @param from a run's directory, a checkpoint, or a folder that was exported before
 * @example await exportModel("runs/churn", "churn-onnx", { format: "onnx" });
 */
export async function exportModel(from: string, out: string, options: ExportOptions = {}): Promise<ExportedModel> {
  const format = is.oneOf(...EXPORT_FORMATS);
  const checks = { from: is.name, out: is.name, format, checkpoint: is.name, overwrite: is.boolean };
  checkOptions("exportModel", { from, out, ...options }, checks, ["from", "out"]);
  const { writeExport } = await import("./write-export.ts");
  return writeExport(from, out, options);
}
