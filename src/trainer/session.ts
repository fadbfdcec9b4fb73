// A session: everything that a started trainer works with. Made with the engine at the first call, freed by `close()`.
import type { UpdateFn } from "../core/optimizer.ts";
import type { DeviceTensors } from "../core/inspection.ts";
import type { HostTensors, Loss, MaybePromise } from "../core/model.ts";
import type { NameFilter } from "../core/names.ts";
import type { HookRegistry } from "../core/registry/registry.ts";
import type { Run } from "../core/loop/run.ts";
import type { DeviceMemory, FetchedBatch, Session as SessionPort } from "../core/loop/session.ts";
import type { LoaderSet } from "../data/loader-set.ts";
import type { RankGroup } from "../distributed/process-group.ts";
import { type Engine, freeRest } from "../engines/engine.ts";
import { selectEngine } from "../engines/select.ts";
import { breather, currentPlatform } from "../platform/platform.ts";
import { type Buffers, DeviceState } from "./device-state.ts";
import { EvalRunner } from "./eval-runner.ts";
import { HookTensors } from "./inspection/hook-tensors.ts";
import type { Initial } from "./initial.ts";
import type { JointStep } from "./joint-step.ts";
import type { LayeredPasses } from "./layered/layered-passes.ts";
import type { OptimizerSet } from "./optimizers.ts";
import type { TrainerOptions } from "./options.ts";
import { ProbeRunner } from "./inspection/probe-runner.ts";
import type { Problem } from "./problem.ts";
import { ControlLayout, fetcher, FunctionWatch } from "./programs/run.ts";
import { RowsLayout } from "./metrics/rows-layout.ts";
import { sumsLayouts } from "./programs/sums.ts";
import type { StepReadings } from "./readings.ts";
import type { Saver } from "./saving/saver.ts";
import { putBase } from "./base.ts";
import { BufferRecomputer } from "./recompute-buffers.ts";
import { Specs } from "./specs.ts";
import { TrainStep } from "./step.ts";

export interface SessionParts {
  readonly options: TrainerOptions;
  readonly initial: Initial;
  readonly problem: Problem;
  readonly optimizers: OptimizerSet;
  readonly run: Run;
  readonly hooks: HookRegistry;
  readonly loaders: LoaderSet;
  readonly saver: Saver;
  /** Undefined for a process that trains alone. */
  readonly group: RankGroup | undefined;
  readonly warn: (message: string) => void;
}

export class Session implements SessionPort {
  readonly engine: Engine;
  readonly state: DeviceState;
  readonly step: TrainStep;
  readonly readings: StepReadings;
  readonly evaluation: EvalRunner;
  readonly optimizers: OptimizerSet;
  readonly params: HookTensors;
  readonly probes: ProbeRunner;
  readonly data: LoaderSet;
  readonly saves: Saver;
  readonly fetch: (from?: number) => MaybePromise<FetchedBatch>;
  readonly breathe: () => MaybePromise<void>;
  readonly #specs: Specs;
  readonly #functions: FunctionWatch;
  readonly #layered: LayeredPasses | undefined;
  readonly #ownsEngine: boolean;

  static async open(parts: SessionParts): Promise<Session> {
    const { options, group, warn } = parts;
    const engine = await selectEngine(options.engine ?? "auto", warn, options);
    const { base } = parts.problem;
    let constants: Buffers = {};
    try {
      // Loaded where they are used: most processes train alone, and most models are no stacks.
      const joint = group && (await import("./joint-step.ts")).JointStep;
      const layered = parts.problem.stack && (await import("./layered/layered-passes.ts")).LayeredPasses;
      if (base) constants = await putBase(engine, base);
      return new Session(engine, parts, constants, joint, layered);
    } catch (error) {
      // No owner exists yet to free what is there, or to close the engine.
      freeRest(engine, constants);
      if (engine !== options.engine) await engine.close();
      throw error;
    }
  }

  private constructor(
    engine: Engine,
    parts: SessionParts,
    base: Buffers,
    Joint: typeof JointStep | undefined,
    Layered: typeof LayeredPasses | undefined,
  ) {
    const { options, initial, optimizers, run, hooks, group, warn } = parts;
    const { seed = 0, clipNorm, clipValue, lossWeights = {} } = options;
    const { metrics = {} } = options;
    const sums = sumsLayouts(metrics);
    const rows = new RowsLayout(metrics);
    const control = new ControlLayout(["scale", "weight", "clipNorm", "clipValue", ...optimizers.controlNames()]);
    const clip = { clipNorm: clipNorm !== undefined, clipValue: clipValue !== undefined };
    const totals = () => ({ totalSteps: run.totalSteps, totalEpochs: run.totalEpochs });
    const names = Object.keys(initial.params);
    const specs = new Specs(names, parts.problem, optimizers, { sums, rows }, control, clip, warn);
    const functions = new FunctionWatch(warn, () => run.turn.ctx?.hook);
    const state = new DeviceState(engine, initial.take(), optimizers, base);
    const probes = new ProbeRunner(engine, state, specs, seed);
    const joint = group && Joint && new Joint(engine, state, group, sums.train.size);
    const { stack } = parts.problem;
    const layered = stack && Layered && new Layered(engine, stack.layers);
    const made = {
      layered,
      engine,
      state,
      optimizers,
      specs,
      sums: sums.train,
      control,
      hooks,
      probes,
      joint,
      warn,
      functions,
    };
    this.engine = engine;
    this.#layered = layered;
    this.state = state;
    this.probes = probes;
    this.optimizers = optimizers;
    this.step = new TrainStep({ ...made, options: { seed, clipNorm, clipValue, lossWeights, totals } });
    this.readings = this.step.readings;
    this.evaluation = new EvalRunner(
      engine,
      state,
      specs,
      { sums: sums.eval, rows },
      hooks,
      warn,
      layered,
      group?.strategy,
    );
    this.data = parts.loaders;
    const recomputer = new BufferRecomputer({
      engine,
      state,
      specs,
      data: this.data,
      seed,
      strategy: group?.strategy,
      warn,
    });
    this.params = new HookTensors(engine, state, () => this.evaluation.current, functions, recomputer);
    this.saves = parts.saver;
    this.fetch = fetcher(parts.loaders, options.tokens, group, run, this.step);
    this.breathe = breather(currentPlatform(), options.yieldEvery ?? 20);
    this.#specs = specs;
    this.#functions = functions;
    this.#ownsEngine = engine !== options.engine;
  }

  get device(): string {
    return this.engine.name;
  }

  get compileSeconds(): number | undefined {
    return this.engine.compileSeconds;
  }

  get compiling(): number | undefined {
    return this.engine.compiling;
  }

  get deviceMemory(): DeviceMemory | undefined {
    return this.engine.memory;
  }

  setLoss(loss: Loss): void {
    this.#functions.note("setLoss", loss);
    this.#specs.setLoss(loss);
  }

  setUpdate(update: UpdateFn | null): void {
    if (update) this.#functions.note("setUpdate", update);
    if (update?.slots) {
      this.optimizers.addOwnSlots(update.slots);
      this.state.addSlots(this.optimizers.slotNames);
    }
    this.#specs.setUpdate(update);
  }

  frozenBy(filter: NameFilter): readonly string[] {
    return this.#specs.frozenBy(filter);
  }

  freeze(names: readonly string[]): void {
    this.#specs.freeze(names);
  }

  setParams(params: HostTensors | DeviceTensors): void {
    this.state.setParams(params);
  }

  /** Frees everything on the device; an engine that the user brought stays open. */
  async close(): Promise<void> {
    this.params.free();
    this.step.free();
    this.evaluation.free();
    this.#layered?.free();
    this.state.free();
    if (this.#ownsEngine) await this.engine.close();
  }
}
