// hookline/optim: optimizers and learning-rate schedules.
import "../core/ambient.ts";
export { type AdamOptions, adam, adamw } from "./adam.ts";
export { type CommonOptions } from "./common.ts";
export { lion, type LionOptions } from "./lion.ts";
export { rmsprop, type RmspropOptions } from "./rmsprop.ts";
export { sgd, type SgdOptions } from "./sgd.ts";
export {
  type ConstantOptions,
  type CosineOptions,
  type ExponentialOptions,
  type LinearOptions,
  type OneCycleOptions,
  type StepOptions,
  constant,
  cosine,
  exponential,
  linear,
  oneCycle,
  step,
} from "./schedules/curves.ts";
export { plateau, type PlateauOptions } from "./schedules/plateau.ts";
export { type SequencePart, type WarmupOptions, sequence, warmup } from "./schedules/composite.ts";
export { type Amount, type Interval } from "./schedules/time.ts";
export type { GroupOptions, GroupValues, Optimizer, TorchLayout, Schedule, ScheduleTime } from "../core/optimizer.ts";
