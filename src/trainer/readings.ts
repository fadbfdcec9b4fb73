// What hooks read of a step: loss, norms, outputs, activations and the epoch's averages. Values stay on the device until a
// hook reads them; engines that cannot read synchronously read them in `settle`, before the event.
import { type HostArray, type TypedArray, sizeOf } from "../core/arrays.ts";
import type { Metrics } from "../core/context.ts";
import { ContextError } from "../core/errors.ts";
import type { HostTensors, MaybePromise } from "../core/model.ts";
import { chain } from "../core/maybe.ts";
import type { Activations, ProbeRequest } from "../core/inspection.ts";
import { type Buffer, type Engine, type Tree, freeRest } from "../engines/engine.ts";
import { ActivationsView, type BufferGroups, OutputsView } from "./inspection/activations-view.ts";
import { BatchMetrics } from "./batch-metrics.ts";
import type { Averages, Evaluated, SumsLayout } from "./programs/sums.ts";

/** What a program shows that has run the model on a batch. */
export interface ShownPass {
  readonly report: Buffer;
  readonly outputs: Tree<Buffer>;
  readonly activations?: BufferGroups;
}

export class StepReadings {
  /** Can values be read on demand, without `settle`? */
  readonly syncRead: boolean;
  readonly scalars: Scalars;
  readonly metrics: BatchMetrics;
  /** Sums over the epoch so far. */
  readonly totals: Totals;
  readonly #outputs: OutputsView;
  readonly #activations: ActivationsView;
  /** Has a pass of this step returned activations? */
  #probed = false;
  /** Did the last pass return outputs? */
  #hasOutputs = false;

  constructor(engine: Engine, sums: SumsLayout) {
    this.syncRead = engine.syncRead;
    this.totals = new Totals(engine, sums);
    this.scalars = new Scalars(engine);
    this.metrics = new BatchMetrics(engine, sums);
    this.#outputs = new OutputsView(engine);
    this.#activations = new ActivationsView(engine);
  }

  /** A new step: hooks must not read the last one's values as its own. `metered`: did the last one have batch metrics? */
  beginStep(metered: boolean): void {
    this.scalars.clear();
    if (metered) this.metrics.free();
    if (this.#probed) this.#activations.free();
    this.#probed = false;
  }

  /** Takes over what a pass returned; without `activations` those of an earlier pass stay. */
  show(pass: ShownPass): void {
    this.scalars.set("pass", pass.report);
    const outputs = wantedOutputs(pass.outputs);
    if (outputs || this.#hasOutputs) this.#outputs.set(outputs);
    this.#hasOutputs = outputs !== undefined;
    for (const _ in pass.activations) {
      this.#activations.set(pass.activations);
      this.#probed = true;
      break;
    }
  }

  /** Reads everything, on engines that must await; does nothing elsewhere. */
  settle(): MaybePromise<void> {
    if (this.syncRead) return undefined;
    const views = [this.scalars, this.metrics, this.#outputs, this.#activations].map((view) => view.settle());
    return Promise.all([this.totals.read(), ...views]).then(() => undefined);
  }

  get loss(): number {
    return this.scalars.loss;
  }

  /** Metrics of the last micro-batch, when the plan computes them. */
  get batchMetrics(): Metrics {
    return this.metrics.batch.metrics;
  }

  /** Metrics of the whole step, when the plan computes them. */
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

  /** Mean loss of the epoch so far; on engines that must await, as of the last `settle`. */
  get avgLoss(): number {
    const averages = this.syncRead ? (this.totals.read() as Averages | undefined) : this.totals.last;
    return averages?.loss ?? Number.NaN;
  }

  /** Mean loss and training metrics of the epoch so far; undefined when there is nothing to average. */
  epochMetrics(): MaybePromise<Averages | undefined> {
    return this.totals.read();
  }

  /** A new epoch: its averages begin. */
  resetEpoch(): void {
    this.totals.reset();
  }

  free(): void {
    this.scalars.free();
    this.metrics.free();
    this.totals.free();
    this.#outputs.free();
    this.#activations.free();
  }
}

/** Undefined for the empty map of a program whose outputs nobody wants. */
export function wantedOutputs(outputs: Tree<Buffer>): Tree<Buffer> | undefined {
  const isNone = (outputs as Partial<Buffer>).shape === undefined && Object.keys(outputs).length === 0;
  return isNone ? undefined : outputs;
}

type Field = "loss" | "norm" | "clippedNorm";

/** Programs that report scalars, and the fields of each report in the order of its vector. */
const REPORTS = {
  pass: ["loss", "norm"],
  norm: ["norm"],
  clip: ["norm", "clippedNorm"],
} as const satisfies Record<string, readonly Field[]>;
type Report = keyof typeof REPORTS;

class Scalars {
  readonly #engine: Engine;
  // Every field always there: objects whose fields come and go are slow, and this is written in every step.
  readonly #reports: Record<Report, Buffer | undefined> = { pass: undefined, norm: undefined, clip: undefined };
  readonly #values: Record<Field, number | undefined> = { loss: undefined, norm: undefined, clippedNorm: undefined };
  /** Reports whose vector has not been read. */
  readonly #unread = new Set<Report>();
  /** The last pass was of a step before: its norm is not this one's. */
  #staleNorm = false;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Takes over the vector that a program reported. */
  set(report: Report, vector: Buffer): void {
    this.#drop(report);
    this.#reports[report] = vector;
    this.#unread.add(report);
    if (report === "pass") this.#staleNorm = false;
    for (const field of REPORTS[report].slice(0, sizeOf(vector.shape))) this.#values[field] = undefined;
  }

  /** The loss of the whole step, where this rank computed only a part of it. */
  setLoss(loss: number): void {
    this.#unread.delete("pass");
    this.#values.loss = loss;
  }

  #drop(report: Report): void {
    const vector = this.#reports[report];
    if (vector) this.#engine.free(vector);
    this.#reports[report] = undefined;
    this.#unread.delete(report);
  }

  /** A new step: the norms of the last one must not be seen as its own. Its loss stays until there is another. */
  clear(): void {
    this.#drop("norm");
    this.#drop("clip");
    this.#staleNorm = true;
    this.#values.norm = undefined;
    this.#values.clippedNorm = undefined;
  }

  /** Reads everything at once, for engines that cannot read on demand. */
  settle(): MaybePromise<void> {
    return this.#engine.syncRead ? undefined : this.#settle();
  }

  async #settle(): Promise<void> {
    const reports = [...this.#unread];
    this.#unread.clear();
    const vectors = await Promise.all(reports.map(async (report) => this.#engine.read(this.#reports[report]!)));
    reports.forEach((report, i) => this.#take(report, vectors[i]!));
  }

  #take(report: Report, vector: ArrayLike<number>): void {
    const fields = REPORTS[report];
    const shown = report === "pass" && this.#staleNorm ? 1 : vector.length;
    for (let i = 0; i < shown; i++) this.#values[fields[i]!] = vector[i]!;
  }

  #readAll(): void {
    for (const report of this.#unread)
      this.#take(report, this.#engine.read(this.#reports[report]!) as ArrayLike<number>);
    this.#unread.clear();
  }

  #get(field: Field): number | undefined {
    if (this.#unread.size > 0 && this.#engine.syncRead) this.#readAll();
    return this.#values[field];
  }

  /** Are loss and norm numbers? A step without a norm was skipped before it could go wrong, and the loss is an older one's. */
  get finite(): boolean {
    const norm = this.#get("norm");
    return norm === undefined || (Number.isFinite(norm) && Number.isFinite(this.#get("loss")));
  }

  get loss(): number {
    return this.#get("loss") ?? Number.NaN;
  }

  get norm(): number {
    const norm = this.#get("norm");
    if (norm !== undefined) return norm;
    throw new ContextError(
      `ctx.gradNorm is not computed in this step. Say needs: ["gradNorm"] on the hook, or switch clipping on with clipNorm.`,
    );
  }

  get clippedNorm(): number {
    return this.#get("clippedNorm") ?? Number.NaN;
  }

  free(): void {
    for (const report of Object.keys(REPORTS) as Report[]) this.#drop(report);
  }
}

/** Batches after which the device's sums are moved. A count, never a reader, decides: looking must not change a bit. */
const MOVE_EVERY = 256;

export interface TotalsState {
  readonly totals: readonly number[];
  readonly weight: number;
  readonly batches: number;
  readonly sums: readonly number[];
}

export class Totals {
  readonly #engine: Engine;
  readonly #layout: SumsLayout;
  readonly #totals: Float64Array;
  #weight = 0;
  #batches = 0;
  /** The vector since it was last moved; where the losses are added up on the host, it is out of date. */
  #sums: Buffer;
  /** The sum of the losses as the vector would hold it, if the last batch was added up on the host. */
  #hostSum: number | undefined;
  /** What `read` found last, for events on engines that cannot read on demand. */
  last: Averages | undefined;

  constructor(engine: Engine, layout: SumsLayout) {
    this.#engine = engine;
    this.#layout = layout;
    this.#totals = new Float64Array(layout.size);
    this.#sums = this.#zeros();
  }

  /**
   * May losses be added up on the host? Without metrics the sum of the losses is all there is, and where reading one
   * costs nothing, that spares the program a kernel.
   */
  get takesLosses(): boolean {
    return this.#engine.readsAtOnce === true && this.#layout.size === 1;
  }

  /** The vector that goes into the next program. */
  get sums(): Buffer {
    if (this.#hostSum !== undefined) {
      this.#engine.free(this.#sums);
      this.#sums = this.#engine.put({ data: Float32Array.of(this.#hostSum), shape: [1] });
      this.#hostSum = undefined;
    }
    return this.#sums;
  }

  #zeros(): Buffer {
    return this.#engine.put({ data: new Float32Array(this.#layout.size), shape: [this.#layout.size] });
  }

  /** Takes the vector that a program returned, `weight` richer. */
  accept(sums: Buffer, weight: number, donated: boolean): MaybePromise<void> {
    if (!donated) this.#engine.free(this.#sums);
    this.#sums = sums;
    return this.#counted(weight);
  }

  /** Adds the loss of a batch as a program would: in float32, rounded after each operation. */
  acceptLoss(loss: number, weight: number): MaybePromise<void> {
    const before = this.#hostSum ?? (this.#engine.read(this.#sums) as TypedArray)[0]!;
    this.#hostSum = Math.fround(before + Math.fround(loss * Math.fround(weight)));
    return this.#counted(weight);
  }

  #counted(weight: number): MaybePromise<void> {
    this.#weight += weight;
    return ++this.#batches % MOVE_EVERY === 0 ? this.#move() : undefined;
  }

  /** The numbers of the vector. */
  #read(): MaybePromise<ArrayLike<number>> {
    return this.#hostSum === undefined ? this.#engine.read(this.#sums) : [this.#hostSum];
  }

  /** Adds what several processes have counted together, which is on the host already. */
  add(sums: Float32Array, weight: number): void {
    for (let i = 0; i < sums.length; i++) this.#totals[i]! += sums[i]!;
    this.#weight += weight;
  }

  #move(): MaybePromise<void> {
    const values = this.#read();
    const taken = this.#sums;
    this.#hostSum = undefined;
    this.#sums = this.#zeros();
    return chain(values, (values) => {
      for (let i = 0; i < values.length; i++) this.#totals[i]! += values[i]!;
      this.#engine.free(taken);
    });
  }

  /** Averages over everything so far; undefined when there is nothing. */
  read(): MaybePromise<Averages | undefined> {
    if (this.#weight === 0) return (this.last = undefined);
    const weight = this.#weight;
    return chain(this.#read(), (values) => {
      const totals = this.#totals.map((total, i) => total + values[i]!);
      return (this.last = this.#layout.compute(totals, weight));
    });
  }

  /** The same at the end of an evaluation. If several processes have counted, each its part, `sum` adds their vectors. */
  async evaluated(sum?: (values: Float64Array) => MaybePromise<void>): Promise<Evaluated | undefined> {
    const values = await this.#read();
    const all = Float64Array.from([...this.#totals.map((total, i) => total + values[i]!), this.#weight]);
    await sum?.(all);
    const weight = all.at(-1)!;
    return weight === 0 ? undefined : this.#layout.evaluated(all.subarray(0, -1), weight);
  }

  /** Everything, as plain numbers; JSON keeps float32 and float64 exactly. */
  state(): MaybePromise<TotalsState> {
    const [totals, weight, batches] = [[...this.#totals], this.#weight, this.#batches];
    return chain(this.#read(), (values) => ({ totals, weight, batches, sums: Array.from(values) }));
  }

  /** False when these are the sums of other metrics: then the averages start over. */
  load({ totals, weight, batches, sums }: TotalsState): boolean {
    this.reset();
    const { size } = this.#layout;
    if (totals.length !== size || sums.length !== size) return false;
    this.#totals.set(totals);
    this.#weight = weight;
    this.#batches = batches;
    this.#engine.free(this.#sums);
    this.#sums = this.#engine.put({ data: Float32Array.from(sums), shape: [size] });
    return true;
  }

  reset(): void {
    this.#engine.free(this.#sums);
    this.#sums = this.#zeros();
    this.#hostSum = undefined;
    this.#totals.fill(0);
    this.#weight = 0;
    this.#batches = 0;
    this.last = undefined;
  }

  free(): void {
    freeRest(this.#engine, this.#sums);
  }
}
