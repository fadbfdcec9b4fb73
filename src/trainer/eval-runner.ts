// The computing side of an evaluation, and of predict.
import { type HostArray, toBatch } from "../core/arrays.ts";
import type { Metrics } from "../core/context.ts";
import type { Activations, DeviceTensors, Probe, ProbeRequest } from "../core/inspection.ts";
import type { HostBatch, HostTensors, Loader, MaybePromise } from "../core/model.ts";
import { chain } from "../core/maybe.ts";
import type { HookRegistry } from "../core/registry/registry.ts";
import type { FetchedBatch } from "../core/loop/session.ts";
import { nextShare } from "../data/share.ts";
import type { Strategy } from "../distributed/strategy.ts";
import { freeAll, type Buffer, type Engine, type Tree } from "../engines/engine.ts";
import { stepKey } from "../nn/key.ts";
import { ActivationsView, type BufferGroups, OutputsView, readTree } from "./inspection/activations-view.ts";
import { BatchInput, ProgramCache, runProgram } from "./programs/run.ts";
import type { DeviceState, ModelBuffers } from "./device-state.ts";
import { BatchMetrics } from "./batch-metrics.ts";
import { EvaluationRows } from "./metrics/evaluation-rows.ts";
import { type Specs, type StepSpec, choosePlan } from "./specs.ts";
import { evalBatch, predictBatch } from "./programs/programs.ts";
import type { LayeredPasses } from "./layered/layered-passes.ts";
import type { RowsLayout } from "./metrics/rows-layout.ts";
import type { Evaluated, SumsLayout } from "./programs/sums.ts";
import { Totals, wantedOutputs } from "./readings.ts";

interface EvalResult {
  readonly sums: Buffer;
  readonly batchSums?: Buffer;
  readonly rows: Readonly<Record<string, Readonly<Record<string, Buffer>>>>;
  readonly outputs: Tree<Buffer>;
  readonly activations: BufferGroups;
}

export class EvalRunner {
  readonly #engine: Engine;
  readonly #state: DeviceState;
  readonly #specs: Specs;
  readonly #hooks: HookRegistry;
  readonly #programs: ProgramCache;
  readonly #layered: LayeredPasses | undefined;
  readonly #input: BatchInput;
  readonly #totals: Totals;
  readonly #rows: EvaluationRows;
  readonly #metrics: BatchMetrics;
  readonly #outputs: OutputsView;
  readonly #activations: ActivationsView;
  /** Set in a process group, whose ranks share each evaluation. */
  readonly #strategy: Strategy | undefined;
  /** Parameters, and perhaps buffers, put in place for this evaluation only. */
  #swapped: ModelBuffers | undefined;
  #replacements: readonly Probe[] = [];

  constructor(
    engine: Engine,
    state: DeviceState,
    specs: Specs,
    { sums, rows }: { readonly sums: SumsLayout; readonly rows: RowsLayout },
    hooks: HookRegistry,
    warn: (message: string) => void,
    layered: LayeredPasses | undefined,
    strategy?: Strategy,
  ) {
    this.#engine = engine;
    this.#state = state;
    this.#specs = specs;
    this.#hooks = hooks;
    this.#programs = new ProgramCache(engine);
    this.#input = new BatchInput(engine, warn);
    this.#totals = new Totals(engine, sums);
    this.#rows = new EvaluationRows(engine, rows);
    this.#metrics = new BatchMetrics(engine, sums);
    this.#outputs = new OutputsView(engine);
    this.#activations = new ActivationsView(engine);
    this.#layered = layered;
    this.#strategy = strategy;
  }

  begin(): void {
    this.#totals.reset();
    this.#rows.reset();
  }

  /** A loader's next batch, or this rank's share of it; undefined at its end. */
  fetch(loader: Loader, name: string): MaybePromise<Pick<FetchedBatch, "batch" | "share"> | undefined> {
    if (this.#strategy)
      return chain(nextShare(loader, name, this.#strategy), (share) => share && { batch: share.batch, share });
    return chain(loader.next(), (batch) => {
      if (batch === undefined) return undefined;
      return { batch: toBatch(batch, () => `Loader \`${name}\``), share: undefined };
    });
  }

  swapParams(params: HostTensors | DeviceTensors): void {
    this.#dropSwapped();
    this.#swapped = this.#state.modelFrom("ctx.swapParams", params);
  }

  replace(replacements: readonly Probe[]): void {
    this.#replacements = replacements;
  }

  restore(): void {
    this.#dropSwapped();
    this.#replacements = [];
    this.#activations.free();
  }

  #dropSwapped(): void {
    if (this.#swapped) freeAll(this.#engine, [this.#swapped.params, this.#swapped.state]);
    this.#swapped = undefined;
  }

  batch(host: HostBatch, loader: string, index: number, empty = false): MaybePromise<void> {
    const listens = this.#hooks.firstListener("evalBatchEnd") !== undefined;
    const spec = this.#spec(loader, this.#hooks.probing("evalBatchEnd"), listens);
    const weight = empty ? 0 : this.#specs.weigh(host, spec);
    const counts = weight > 0;
    spec.indices.check(host);
    const program =
      this.#layered?.evaluate(spec) ?? this.#programs.of(spec, "eval", () => evalBatch(spec), { donate: [2, 3, 4, 5] });
    const { params, state } = this.current;
    const count = this.#engine.put({ data: Float32Array.of(weight), shape: [] });
    const out = runProgram(
      program,
      { what: "evaluation", loader, host },
      this.#state.withBase(params),
      state,
      counts ? this.#totals.sums : this.#engine.copy(this.#totals.sums),
      this.#input.put(host, loader),
      count,
      this.#key(index),
    );
    return chain(out, (result) => {
      const { sums, batchSums, rows, outputs, activations } = result as unknown as EvalResult;
      this.#metrics.set(batchSums, weight);
      this.#outputs.set(wantedOutputs(outputs));
      this.#activations.set(activations);
      if (!counts) this.#engine.free(sums);
      const counted = chain(counts ? this.#totals.accept(sums, weight, true) : undefined, () =>
        this.#rows.add(rows, counts),
      );
      return chain(counted, () =>
        chain(this.#metrics.settle(), () => chain(this.#outputs.settle(), () => this.#activations.settle())),
      );
    });
  }

  #spec(loader: string, probes: readonly Probe[], batchMetrics: boolean): StepSpec {
    const plan = { ...choosePlan(this.#hooks, 1, false), probes, batchMetrics };
    return this.#specs.get(plan, loader, this.#replacements);
  }

  /** Averages and figures over all batches, of all ranks. */
  async end(): Promise<Evaluated | undefined> {
    const strategy = this.#strategy;
    const evaluated = await this.#totals.evaluated(strategy && ((values) => strategy.allReduce(values)));
    if (!evaluated) return undefined;
    const metrics = { ...evaluated.metrics, ...(await this.#rows.compute(strategy)) };
    return { ...evaluated, metrics };
  }

  get outputs(): HostArray | HostTensors {
    return this.#outputs.host;
  }

  get loss(): number {
    return this.#metrics.batch.loss;
  }

  get batchMetrics(): Metrics {
    return this.#metrics.batch.metrics;
  }

  activations(request: ProbeRequest): Activations {
    return this.#activations.of(request);
  }

  /** The model's outputs for one batch, as host arrays. */
  predict(host: HostBatch, loader: string, index: number): MaybePromise<HostArray | HostTensors> {
    const spec = this.#spec(loader, [], false);
    spec.indices.check(host);
    const program =
      this.#layered?.predict(spec) ?? this.#programs.of(spec, "predict", () => predictBatch(spec), { donate: [2, 3] });
    const { params, state } = this.current;
    const out = runProgram(
      program,
      { what: "prediction", loader, host },
      this.#state.withBase(params),
      state,
      this.#input.put(host, loader),
      this.#key(index),
    );
    return chain(out, (result) => {
      const { outputs } = result as { outputs: Tree<Buffer> };
      return chain(readTree(this.#engine, outputs), (copy) => {
        freeAll(this.#engine, outputs);
        return copy;
      });
    });
  }

  /** The parameters and buffers that evaluations use now. */
  get current(): ModelBuffers {
    const { params, state } = this.#state;
    return this.#swapped
      ? { params: this.#swapped.params, state: { ...state, ...this.#swapped.state } }
      : { params, state };
  }

  /** Evaluation draws no random numbers that matter, but a model may ask for a key: the same one every time. */
  #key(index: number): Buffer {
    return this.#engine.put({ data: stepKey(0, 0, index), shape: [2] });
  }

  free(): void {
    this.restore();
    this.#totals.free();
    this.#metrics.free();
    this.#outputs.free();
  }
}
