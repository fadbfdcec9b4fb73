// What the trainer needs of a learning-rate schedule: a factor on the base rate, as a pure function of the counters.
import type { Json } from "./json.ts";

/** Where in the run a schedule is asked. */
export interface ScheduleTime {
  /** Steps done before this one: 0 at the first step. */
  readonly step: number;
  readonly epoch: number;
  /** Undefined when the length of the run is not known (a stream, a time limit). */
  readonly totalSteps: number | undefined;
  readonly totalEpochs: number | undefined;
}

/** The learning rate over time, as a factor on the rate of each group. */
export interface Schedule {
  readonly name: string;
  /** When the factor is taken anew: every step, or once at the start of each epoch. Never both. */
  readonly interval: "step" | "epoch";
  /** The factor on each group's base rate. */
  factor(at: ScheduleTime): number;
  /** The metric that `observe` wants after each eval (plateau). */
  readonly monitor?: string;
  observe?(value: number): void;
  /** Forgets what it has observed: a new run begins. */
  reset?(): void;
  state?(): Json;
  load?(state: Json): void;
}
