// hookline/experiment: from data to results, one or several models.
import "../core/ambient.ts";
export { Experiment } from "./experiment.ts";
export {
  type CsvSourceOptions,
  type SafetensorsOptions,
  type TableSourceOptions,
  csv,
  safetensors,
  table,
} from "./sources.ts";
export {
  type ByTimeOptions,
  type HoldoutOptions,
  type KFoldOptions,
  type LeaveOneOutOptions,
  byTime,
  holdout,
  kFold,
  leaveOneOut,
} from "./splits.ts";
export type {
  ExperimentOptions,
  ExperimentResult,
  LoaderOptions,
  Loaders,
  ModelPlan,
  ModelPreflight,
  ModelResult,
  RunExperimentOptions,
  Setup,
  Split,
  SplitData,
} from "./types.ts";
export type { FoldStats, TrainingSummary } from "../runs/results.ts";
