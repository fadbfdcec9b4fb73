// hookline: the training loop that you can hook anywhere.
import "./core/ambient.ts";
export { Trainer } from "./trainer/trainer.ts";
export type { Preflight } from "./trainer/preflight.ts";
export type { FitOptions, TrainerOptions } from "./trainer/options.ts";
export type { RunResult } from "./core/loop/result.ts";
export type { ErrorPolicy, GivenState, Hook, HookFailure, HookInfo, HookState, Need, Stage } from "./core/hook.ts";
export type { ContextOf, Phase, RunStatus } from "./core/context.ts";
export type { LiveGroup, LiveOptimizer, UpdateFn, UpdateState } from "./core/optimizer.ts";
export { alwaysPasses, defineEvent, type BuiltinEvent, type CustomEvents, type EventName } from "./core/events.ts";
export type {
  PipelineEvent,
  TuneEvent,
  Datasets,
  PipelineContexts,
  TrainedModel,
  TrialCheckpoint,
  TrialFailure,
  TrialInfo,
  TuneBudget,
  TuneContexts,
} from "./core/outer-events.ts";
export type { BatchLimit } from "./core/loop/counters.ts";
export {
  boundaryEvent,
  checkCadence,
  withUnit,
  type Cadence,
  type CadenceOptions,
  type Quantity,
} from "./core/cadence.ts";
export type {
  Diagnosis,
  NonFinite,
  ComputeFn,
  ComputeInput,
  Consumed,
  DeviceTensors,
  ParamsView,
  Grads,
  GradStats,
  GradStatsOptions,
  Activations,
  ActivationStats,
  ProbeRequest,
  ReplaceFn,
} from "./core/inspection.ts";
export type { PredictOptions } from "./trainer/predict.ts";
export type { ProbedRun, RunWithProbesOptions } from "./trainer/inspection/probe-runner.ts";
export type { Intervention } from "./core/interventions.ts";
export type {
  BadCheckpoint,
  CheckpointInfo,
  Checkpoints,
  FailedSave,
  HeldLock,
  Loading,
  LockMark,
  ResumeReport,
  SaveMoment,
  SaveOptions,
  SaveReason,
  SaveTensors,
  SavedCheckpoint,
  Saving,
  WeightsOptions,
} from "./core/saving.ts";
export {
  histogram,
  image,
  text,
  type HistogramMedia,
  type ImageMedia,
  type Media,
  type TextMedia,
} from "./core/media.ts";
export { sharedKey, type SharedKey } from "./core/shared.ts";
export type { HookReport } from "./core/registry/hook-times.ts";
export type { Disposer, HookRegistry } from "./core/registry/registry.ts";
export type { Strategy } from "./distributed/strategy.ts";
export {
  CheckpointError,
  ContextError,
  DataError,
  DistributedError,
  EngineError,
  HookError,
  HooklineError,
  HookRegistrationError,
  LockLostError,
  OptionError,
  ProgramError,
} from "./core/errors.ts";
export type { Json } from "./core/options.ts";
export { isHostArray, type ArrayInput, type DType, type HostArray, type TypedArray } from "./core/arrays.ts";
export type {
  HostBatch,
  HostTensors,
  Loss,
  FrozenBase,
  FrozenTensor,
  LossModel,
  AnyMetric,
  ArrayMetric,
  Figure,
  Metric,
  MetricValues,
  RowMetric,
  Model,
  ModelDefaults,
  Outputs,
  Stack,
  StackLayer,
  Tensor,
  TensorBatch,
  Tensors,
  WeighFn,
} from "./core/model.ts";
export { directionOf, evalLoaderNames, monitorValue, unknownMonitor, type NameFilter } from "./core/names.ts";
export type { Engine, Precision } from "./engines/engine.ts";
export { providePackages, type PackageImport } from "./platform/optional-package.ts";
export * from "./hooks/index.ts";
export type { BackendName, BackendSpec } from "./loggers/catalogue.ts";
