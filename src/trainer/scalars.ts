// What a step leaves for its events: loss, norms, outputs. Read from the device only when someone looks.
import type { HostArray } from "../core/arrays.ts";
import { ContextError } from "../core/errors.ts";
import type { MaybePromise } from "../core/loader.ts";
import type { HostTensors } from "../core/model.ts";
import { freeAll, leaves, type Buffer, type Engine, type Tree } from "../engines/engine.ts";

type Field = "loss" | "norm" | "clippedNorm";

export interface StepResults {
  readonly loss?: Buffer;
  readonly norm?: Buffer | undefined;
  readonly clippedNorm?: Buffer;
  readonly outputs?: Tree<Buffer>;
}

export class Scalars {
  readonly #engine: Engine;
  readonly #buffers: Partial<Record<Field, Buffer>> = {};
  readonly #values: Partial<Record<Field, number>> = {};
  #outputs: Tree<Buffer> | undefined;
  #hostOutputs: HostArray | HostTensors | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Takes over the buffers of a program's results. */
  set({ loss, norm, clippedNorm, outputs }: StepResults): void {
    this.#replace("loss", loss);
    this.#replace("norm", norm);
    this.#replace("clippedNorm", clippedNorm);
    if (outputs === undefined) return;
    if (this.#outputs) freeAll(this.#engine, this.#outputs);
    this.#outputs = leaves(outputs).length > 0 ? outputs : undefined;
    this.#hostOutputs = undefined;
  }

  #replace(field: Field, buffer: Buffer | undefined): void {
    if (buffer === undefined) return;
    if (this.#buffers[field]) this.#engine.free(this.#buffers[field]);
    this.#buffers[field] = buffer;
    delete this.#values[field];
  }

  /** A new step: nothing of the last one may be seen as its own. */
  clear(): void {
    for (const field of ["norm", "clippedNorm"] as const) {
      if (this.#buffers[field]) this.#engine.free(this.#buffers[field]);
      delete this.#buffers[field];
      delete this.#values[field];
    }
  }

  /** Reads everything at once, for engines that cannot read on demand. */
  settle(): MaybePromise<void> {
    if (this.#engine.syncRead) return undefined;
    return this.#settle();
  }

  async #settle(): Promise<void> {
    const fields = (Object.keys(this.#buffers) as Field[]).filter((field) => this.#values[field] === undefined);
    const outputs = this.#outputs && !this.#hostOutputs ? this.#readOutputs(this.#outputs) : undefined;
    const values = await Promise.all(fields.map((field) => this.#engine.read(this.#buffers[field]!)));
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
    this.clear();
    if (this.#buffers.loss) this.#engine.free(this.#buffers.loss);
    if (this.#outputs) freeAll(this.#engine, this.#outputs);
  }
}

/** Host copies of a model's outputs: one array, or several by name. */
export function readTree(engine: Engine, outputs: Tree<Buffer>): MaybePromise<HostArray | HostTensors> {
  const buffers = leaves(outputs);
  const single = buffers[0] === outputs;
  const names = single ? [] : Object.keys(outputs as Record<string, Buffer>);
  const pack = (arrays: readonly HostArray[]): HostArray | HostTensors =>
    single ? arrays[0]! : Object.fromEntries(names.map((name, i) => [name, arrays[i]!]));
  const values = buffers.map((buffer) => engine.read(buffer));
  const wrap = (data: HostArray["data"], i: number): HostArray => ({ data, shape: [...buffers[i]!.shape] });
  if (engine.syncRead) return pack((values as HostArray["data"][]).map(wrap));
  return Promise.all(values).then((all) => pack(all.map(wrap)));
}
