// Numbers that a step leaves for its events: loss and norms. Read from the device only when someone looks.
import { ContextError } from "../core/errors.ts";
import type { MaybePromise } from "../core/loader.ts";
import type { Buffer, Engine } from "../engines/engine.ts";

type Field = "loss" | "norm" | "clippedNorm";

/** Programs that report scalars, and the fields of each report in the order of its vector. */
const REPORTS = {
  pass: ["loss", "norm"],
  norm: ["norm"],
  clip: ["norm", "clippedNorm"],
} as const satisfies Record<string, readonly Field[]>;
type Report = keyof typeof REPORTS;

export class Scalars {
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
    for (const field of REPORTS[report].slice(0, vector.shape[0])) this.#values[field] = undefined;
  }

  /** The loss of the whole step, where this process computed only a part of it. */
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
