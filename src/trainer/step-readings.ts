// What a step shows to its events: loss, norms, outputs, activations and the epoch's averages. Read only when someone looks.
import type { HostArray } from "../core/arrays.ts";
import type { MaybePromise } from "../core/loader.ts";
import type { Metrics } from "../core/context.types.ts";
import type { HostTensors } from "../core/model.ts";
import type { Activations, ProbeRequest } from "../core/probes.ts";
import type { Readings } from "../core/work.ts";
import type { Buffer, Engine, Tree } from "../engines/engine.ts";
import { ActivationsView, type BufferGroups } from "./activations-view.ts";
import { BatchMetrics } from "./batch-metrics.ts";
import { OutputsView } from "./outputs-view.ts";
import type { SumsLayout } from "./programs/sums.ts";
import { Scalars } from "./scalars.ts";
import type { Averages, Totals } from "./totals.ts";

export class StepReadings implements Readings {
  readonly syncRead: boolean;
  readonly scalars: Scalars;
  readonly metrics: BatchMetrics;
  readonly #totals: Totals;
  readonly #outputs: OutputsView;
  readonly #activations: ActivationsView;

  constructor(engine: Engine, totals: Totals, sums: SumsLayout) {
    this.syncRead = engine.syncRead;
    this.#totals = totals;
    this.scalars = new Scalars(engine);
    this.metrics = new BatchMetrics(engine, sums);
    this.#outputs = new OutputsView(engine);
    this.#activations = new ActivationsView(engine);
  }

  /** A new step: nothing of the last one may be seen as its own. */
  beginStep(): void {
    this.scalars.clear();
    this.metrics.free();
    this.#activations.free();
  }

  /** Takes over what a pass over the model left; without `activations` those of an earlier pass stay. */
  show(pass: { readonly report: Buffer; readonly outputs: Tree<Buffer>; readonly activations?: BufferGroups }): void {
    this.scalars.set("pass", pass.report);
    this.#outputs.set(pass.outputs);
    if (pass.activations) this.#activations.set(pass.activations);
  }

  settle(): MaybePromise<void> {
    if (this.syncRead) return undefined;
    const views = [this.scalars, this.metrics, this.#outputs, this.#activations].map((view) => view.settle());
    return Promise.all([this.#totals.read(), ...views]).then(() => undefined);
  }

  get loss(): number {
    return this.scalars.loss;
  }

  get batchMetrics(): Metrics {
    return this.metrics.batch.metrics;
  }

  get stepMetrics(): Metrics {
    return this.metrics.step.metrics;
  }

  get outputs(): HostArray | HostTensors {
    return this.#outputs.host;
  }

  activations(request: ProbeRequest): Activations {
    return this.#activations.of(request);
  }

  get gradNorm(): number {
    return this.scalars.norm;
  }

  get clippedNorm(): number {
    return this.scalars.clippedNorm;
  }

  get avgLoss(): number {
    const averages = this.syncRead ? (this.#totals.read() as Averages | undefined) : this.#totals.last;
    return averages?.loss ?? Number.NaN;
  }

  epochMetrics(): MaybePromise<Averages | undefined> {
    return this.#totals.read();
  }

  free(): void {
    this.scalars.free();
    this.metrics.free();
    this.#outputs.free();
    this.#activations.free();
  }
}
