// hookline/predict: a trained model as a function of rows, as a server, and as files for other programs.
import "../core/ambient.ts";
export { exportModel, type ExportedModel, type ExportFormat, type ExportOptions } from "../export/export-model.ts";
export type { ArraySignature, Signature } from "../export/model-file.ts";
export { createPredictHandler } from "./http/handler.ts";
export type { PredictHandlerOptions } from "./http/answer.ts";
export { InputError } from "./input-error.ts";
export { loadPredictor, type LoadPredictorOptions } from "./load-predictor.ts";
export type { ModelInputs } from "./forward-pass.ts";
export type { LoadProgress, PredictorSource } from "./model-source.ts";
export type {
  ColumnSpec,
  InputColumns,
  InputRow,
  PredictCallOptions,
  PredictedColumn,
  PredictedValue,
  Prediction,
  PredictionColumns,
  Predictor,
  PredictorStats,
  PredictSignature,
  TargetSpec,
  TensorSpec,
} from "./types.ts";
