// The tensors of one file of a checkpoint: references to what is on the engine, held until they are written.
import { fromHostArrays } from "../../checkpoint/formats/tensor-values.ts";
import type { FileDType, FileTensor, FileTensors } from "../../checkpoint/formats/tensor.ts";
import { sizeOf, toHostArray, type HostArray } from "../../core/arrays.ts";
import { ContextError } from "../../core/errors.ts";
import type { SaveTensors } from "../../core/saving.ts";
import { didYouMean } from "../../core/names.ts";
import { readBuffer, type Buffer, type Engine } from "../../engines/engine.ts";
import type { Buffers } from "../device-state.ts";
import type { SnapshotMemory } from "./snapshot-memory.ts";

/** Types whose bytes a file keeps as they are; the others are read. All of them have four bytes. */
const FILE_TYPES: Readonly<Record<string, FileDType>> = { float32: "F32", int32: "I32", uint32: "U32" };
const WIDTH = 4;

type Held = { readonly buffer: Buffer } | { readonly array: HostArray };

/** The buffer, where its bytes are what a file keeps. */
const lendable = (held: Held): Buffer | undefined =>
  "buffer" in held && held.buffer.dtype in FILE_TYPES ? held.buffer : undefined;

const fileTensor = ({ dtype, shape }: Buffer, bytes: Uint8Array): FileTensor => ({
  dtype: FILE_TYPES[dtype]!,
  shape: [...shape],
  bytes,
});

export class HeldTensors implements SaveTensors {
  readonly #engine: Engine;
  readonly #held = new Map<string, Held>();
  /** Being read where they lie: no longer a hook's to change. */
  readonly #lent: Buffer[] = [];

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Holds these as they are now: the steps that follow make new ones. */
  hold(buffers: Buffers): this {
    for (const name in buffers) this.#put(name, { buffer: this.#engine.copy(buffers[name]!) });
    return this;
  }

  /** The same of those whose names are not there yet. */
  holdMissing(buffers: Buffers): void {
    this.hold(Object.fromEntries(Object.entries(buffers).filter(([name]) => !this.#held.has(name))));
  }

  get names(): readonly string[] {
    return [...this.#held.keys()];
  }

  async get(name: string): Promise<HostArray> {
    const held = this.#held.get(name);
    if (!held) throw new ContextError(`There is no tensor \`${name}\` to be saved.${didYouMean(name, this.names)}`);
    return "buffer" in held ? readBuffer(this.#engine, held.buffer) : structuredClone(held.array);
  }

  set(name: string, array: HostArray): void {
    this.#put(name, { array: toHostArray(array, `The tensor \`${name}\` to be saved`) });
  }

  delete(name: string): void {
    this.#put(name, undefined);
  }

  /** Bytes that are still on the engine. */
  get bytes(): number {
    const buffers = [...this.#held.values()].flatMap((held) => ("buffer" in held ? [held.buffer] : []));
    return buffers.reduce((sum, { shape }) => sum + sizeOf(shape) * WIDTH, 0);
  }

  /** Those whose bytes on the engine are what a file keeps. */
  get lendable(): readonly Buffer[] {
    return [...this.#held.values()].flatMap((held) => lendable(held) ?? []);
  }

  /** All of them as a file keeps them, the lendable ones where they lie: the function says where that is now. */
  async toLend(placeOf: (buffer: Buffer) => Uint8Array): Promise<() => FileTensors> {
    const tensors: [string, () => FileTensor][] = [];
    for (const [name, held] of this.#held) {
      const buffer = lendable(held);
      if (buffer) {
        this.#lent.push(buffer);
        this.#held.delete(name);
        tensors.push([name, () => fileTensor(buffer, placeOf(buffer))]);
      } else {
        const array = "buffer" in held ? await readBuffer(this.#engine, held.buffer) : held.array;
        const tensor = fromHostArrays({ [name]: array })[name]!;
        this.delete(name);
        tensors.push([name, () => tensor]);
      }
    }
    return () => Object.fromEntries(tensors.map(([name, tensor]) => [name, tensor()]));
  }

  /** All of them as a file keeps them, copied into `memory`; then the engine may forget them. */
  async toWrite(memory: SnapshotMemory): Promise<FileTensors> {
    const tensors: FileTensors = {};
    for (const [name, held] of this.#held) {
      const read =
        "buffer" in held
          ? (this.#copied(held.buffer, memory) ?? (await readBuffer(this.#engine, held.buffer)))
          : held.array;
      tensors[name] = "bytes" in read ? read : fromHostArrays({ [name]: read })[name]!;
    }
    this.free();
    return tensors;
  }

  #copied(buffer: Buffer, memory: SnapshotMemory): FileTensor | undefined {
    if (!(buffer.dtype in FILE_TYPES)) return undefined;
    const bytes = memory.take(sizeOf(buffer.shape) * WIDTH);
    return this.#engine.readInto?.(buffer, bytes) ? fileTensor(buffer, bytes) : undefined;
  }

  free(): void {
    for (const name of this.names) this.delete(name);
    for (const buffer of this.#lent.splice(0)) this.#engine.free(buffer);
  }

  #put(name: string, next: Held | undefined): void {
    const before = this.#held.get(name);
    if (before && "buffer" in before) this.#engine.free(before.buffer);
    if (next) this.#held.set(name, next);
    else this.#held.delete(name);
  }
}
