// What a step leaves for its events: loss, norms, outputs. Read from the device only when someone looks.
import type { HostArray } from "../core/arrays.ts";
import { ContextError } from "../core/errors.ts";
import type { MaybePromise } from "../core/loader.ts";
import type { HostTensors } from "../core/model.ts";
import { freeAll, leaves, type Buffer, type Engine, type Tree } from "../engines/engine.ts";

const FIELDS = ["loss", "norm", "clippedNorm"] as const;
type Field = (typeof FIELDS)[number];

export interface StepResults {
  readonly loss?: Buffer;
  readonly norm?: Buffer | undefined;
  readonly clippedNorm?: Buffer;
  readonly outputs?: Tree<Buffer>;
}

export class Scalars {
  readonly #engine: Engine;
  // Every field always there: objects whose fields come and go are slow, and this is written in every step.
  readonly #buffers: Record<Field, Buffer | undefined> = { loss: undefined, norm: undefined, clippedNorm: undefined };
  readonly #values: Record<Field, number | undefined> = { loss: undefined, norm: undefined, clippedNorm: undefined };
  #outputs: Tree<Buffer> | undefined;
  #hostOutputs: HostArray | HostTensors | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Takes over the buffers of a program's results. */
  set({ loss, norm, clippedNorm, outputs }: StepResults): void {
    if (loss) this.#replace("loss", loss);
    if (norm) this.#replace("norm", norm);
    if (clippedNorm) this.#replace("clippedNorm", clippedNorm);
    if (outputs === undefined) return;
    if (this.#outputs) freeAll(this.#engine, this.#outputs);
    this.#outputs = isEmpty(outputs) ? undefined : outputs;
    this.#hostOutputs = undefined;
  }

  #replace(field: Field, buffer: Buffer | undefined): void {
    const before = this.#buffers[field];
    if (before) this.#engine.free(before);
    this.#buffers[field] = buffer;
    this.#values[field] = undefined;
  }

  /** A new step: nothing of the last one may be seen as its own. */
  clear(): void {
    this.#replace("norm", undefined);
    this.#replace("clippedNorm", undefined);
  }

  /** Reads everything at once, for engines that cannot read on demand. */
  settle(): MaybePromise<void> {
    if (this.#engine.syncRead) return undefined;
    return this.#settle();
  }

  async #settle(): Promise<void> {
    const fields = FIELDS.filter((field) => this.#buffers[field] && this.#values[field] === undefined);
    const outputs = this.#outputs && !this.#hostOutputs ? this.#readOutputs(this.#outputs) : undefined;
    const values = await Promise.all(fields.map(async (field) => this.#engine.read(this.#buffers[field]!)));
    fields.forEach((field, i) => (this.#values[field] = values[i]![0]!));
    if (outputs) this.#hostOutputs = await outputs;
  }

  #get(field: Field): number | undefined {
    const known = this.#values[field];
    if (known !== undefined) return known;
    const buffer = this.#buffers[field];
    if (!buffer || !this.#engine.syncRead) return undefined;
    return (this.#values[field] = (this.#engine.read(buffer) as ArrayLike<number>)[0]!);
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

  get outputs(): HostArray | HostTensors {
    if (this.#hostOutputs) return this.#hostOutputs;
    if (!this.#outputs)
      throw new ContextError(
        `ctx.outputs did not come back from the device. Say needs: ["outputs"] on the hook that reads them.`,
      );
    return (this.#hostOutputs = this.#readOutputs(this.#outputs) as HostArray | HostTensors);
  }

  #readOutputs(outputs: Tree<Buffer>): MaybePromise<HostArray | HostTensors> {
    return readTree(this.#engine, outputs);
  }

  free(): void {
    for (const field of FIELDS) this.#replace(field, undefined);
    if (this.#outputs) freeAll(this.#engine, this.#outputs);
  }
}

/** A program whose outputs nobody wants returns an empty map. */
const isEmpty = (outputs: Tree<Buffer>): boolean =>
  (outputs as Partial<Buffer>).shape === undefined && Object.keys(outputs).length === 0;

/** Host copies of a model's outputs: one array, or several by name. */
export function readTree(engine: Engine, outputs: Tree<Buffer>): MaybePromise<HostArray | HostTensors> {
  const buffers = leaves(outputs);
  const single = buffers[0] === outputs;
  const names = single ? [] : Object.keys(outputs);
  const pack = (arrays: readonly HostArray[]): HostArray | HostTensors =>
    single ? arrays[0]! : Object.fromEntries(names.map((name, i) => [name, arrays[i]!]));
  const values = buffers.map((buffer) => engine.read(buffer));
  const wrap = (data: HostArray["data"], i: number): HostArray => ({ data, shape: [...buffers[i]!.shape] });
  if (engine.syncRead) return pack((values as HostArray["data"][]).map(wrap));
  return Promise.all(values.map(async (value) => value)).then((all) => pack(all.map(wrap)));
}
