// hookline/experiment: from data to results, one or several models.
import "../core/ambient.ts";
export { Experiment } from "./experiment.ts";
export { csv, type CsvSourceOptions } from "./sources/csv.ts";
export { safetensors, type SafetensorsOptions } from "./sources/safetensors.ts";
export { byTime, type ByTimeOptions } from "./splits/by-time.ts";
export { holdout, type HoldoutOptions } from "./splits/holdout.ts";
export { kFold, type KFoldOptions } from "./splits/k-fold.ts";
export { leaveOneOut, type LeaveOneOutOptions } from "./splits/leave-one-out.ts";
export type {
  ExperimentOptions,
  ExperimentResult,
  LoaderOptions,
  Loaders,
  ModelPlan,
  ModelResult,
  RunExperimentOptions,
  Setup,
  Split,
  SplitData,
} from "./types.ts";
export type { FoldStats, TrainingSummary } from "../runs/results.ts";
