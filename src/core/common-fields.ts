// The fields of the context that every event has. They are getters of a class, and not rows of a table, because hooks read
// them in every step: V8 inlines a getter of its own, but not a function that all fields share.
import type { Metrics, Phase, RunStatus } from "./context.ts";
import type { LiveOptimizer } from "./optimizer.ts";
import { epochIdx } from "./loop/counters.ts";
import type { ParamsView } from "./inspection.ts";
import type { HookTurn, Intervention } from "./interventions.ts";
import type { LossModel, Model } from "./model.ts";
import type { DeviceMemory } from "./loop/session.ts";
import type { HookRegistry } from "./registry/registry.ts";
import type { Run } from "./loop/run.ts";
import type { Checkpoints } from "./saving.ts";
import type { Shared } from "./shared.ts";

export class CommonFields {
  readonly #run: Run;
  readonly #turn: HookTurn;

  constructor(run: Run, turn: HookTurn) {
    this.#run = run;
    this.#turn = turn;
  }

  get phase(): Phase {
    return this.#run.phase;
  }
  /** From 0. */
  get epoch(): number {
    return epochIdx(this.#run.clock.now);
  }
  /** The number of the current step, from 1; 0 before the first. */
  get step(): number {
    return this.#run.clock.now.step;
  }
  /** Undefined when the length of the run is not known. */
  get totalSteps(): number | undefined {
    return this.#run.totalSteps;
  }
  /** Latest value of every metric, including what hooks logged. */
  get metrics(): Metrics {
    return this.#run.log.metrics;
  }
  get tokensSeen(): number {
    return this.#run.clock.now.tokens;
  }
  get samplesSeen(): number {
    return this.#run.clock.now.samples;
  }
  /** Micro-batches that make a step now. */
  get accumulate(): number {
    return this.#run.accumulate;
  }
  get model(): Model<never> | LossModel {
    return this.#run.host.model;
  }
  get params(): ParamsView {
    return this.#run.session.params;
  }
  get optimizers(): readonly LiveOptimizer[] {
    return this.#run.host.optimizersFor(this.#turn);
  }
  /** The engine that computes: `native`, `wasm`, `webgpu`, … */
  get device(): string {
    return this.#run.session.device;
  }
  /** Seconds that the engine has spent on compiling so far; undefined when it does not report them. */
  get compileSeconds(): number | undefined {
    return this.#run.session.compileSeconds;
  }
  /** Seconds since the engine began to compile, while it does; undefined for engines that do not report it. */
  get compiling(): number | undefined {
    return this.#run.session.compiling;
  }
  /** Bytes in use on the engine's device, the most so far, and the limit; undefined for engines without memory of their own. */
  get deviceMemory(): DeviceMemory | undefined {
    return this.#run.session.deviceMemory;
  }
  get paramCount(): number {
    return this.#run.host.paramCount();
  }
  /**
   * The trainer's options. In an experiment `config.experiment` is the whole configuration: the config as it is written,
   * or the options of the `Experiment`.
   */
  get config(): Readonly<Record<string, unknown>> {
    return this.#run.host.config;
  }
  get status(): RunStatus {
    return this.#run.status;
  }
  /** Seconds of training, including those before a resume. */
  get elapsed(): number {
    return this.#run.clock.now.elapsed / 1000;
  }
  get shared(): Shared {
    return this.#run.shared;
  }
  /** This process in its process group, from 0; 0 is the main one. */
  get rank(): number {
    return this.#run.group?.rank ?? 0;
  }
  /** How many processes train together; 1 without a process group. */
  get worldSize(): number {
    return this.#run.group?.size ?? 1;
  }
  /** Registration and cost of all hooks; changes take effect at the next event. */
  get hooks(): HookRegistry {
    return this.#run.hooks;
  }
  /** The run's checkpoints. */
  get checkpoints(): Checkpoints {
    return this.#run.host.checkpointsFor(this.#turn.hook);
  }
  /** What hooks have changed so far in this run. */
  get interventions(): readonly Intervention[] {
    return this.#run.audit.entries;
  }
}

/** Their names. */
export const COMMON_FIELDS = Object.getOwnPropertyNames(CommonFields.prototype).filter(
  (name) => name !== "constructor",
) as (keyof CommonFields)[];

/** What changes them, for those who assign one. */
export const COMMON_INSTEAD = {
  metrics: "ctx.log({ name: value })",
  params: "ctx.setParams(params)",
  optimizers: "ctx.setLr(lr), or assign to ctx.optimizers[0].groups[0].lr",
  status: "ctx.stop(reason)",
  accumulate: "ctx.setAccumulate(n)",
} satisfies Partial<Record<keyof CommonFields, string>>;
