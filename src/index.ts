// hookline: the training loop that you can hook anywhere.
export { Trainer } from "./trainer/trainer.ts";
export type { FitOptions, TrainerOptions } from "./trainer/options.ts";
export type { RunResult } from "./core/result.ts";
export type { Hook, HookState, ErrorPolicy, Need, Stage } from "./core/hook.ts";
export type { ContextOf, LiveGroup, LiveOptimizer, Phase, RunStatus, UpdateFn } from "./core/context.types.ts";
export {
  defineEvent,
  levelOf,
  type BuiltinEvent,
  type CustomEvents,
  type EventLevel,
  type EventName,
} from "./core/events.ts";
export type { Cadence, CadenceOptions, Quantity } from "./core/cadence.ts";
export type { Diagnosis, NonFinite } from "./core/diagnosis.ts";
export type { ComputeFn, DeviceTensors, ParamsView } from "./core/device-tensors.ts";
export type { Grads, GradStats, GradStatsOptions } from "./core/grads.ts";
export type { Intervention } from "./core/audit.ts";
export { sharedKey, type SharedKey } from "./core/shared.ts";
export type { HookReport } from "./core/hook-report.ts";
export type { Disposer, HookInfo, HookFailure, HookRegistry } from "./core/registry.ts";
export {
  ContextError,
  DataError,
  EngineError,
  HookError,
  HooklineError,
  HookRegistrationError,
  OptionError,
  ProgramError,
} from "./core/errors.ts";
export type { ArrayInput, DType, HostArray, TypedArray } from "./core/arrays.ts";
export type {
  HostBatch,
  HostTensors,
  Loss,
  LossModel,
  Metric,
  Model,
  Outputs,
  Tensor,
  TensorBatch,
  Tensors,
} from "./core/model.ts";
export { directionOf, monitorValue, unknownMonitor } from "./core/monitor.ts";
export type { NameFilter } from "./core/names.ts";
export type { Engine } from "./engines/engine.ts";
