// What a .pt file can hold, and how it is written: protocol 2 pickles that torch.load(…, weights_only=True) reads.
import { show } from "../../../core/options.ts";
import {
  type BadFile,
  type FileTensor,
  bytesPerElement,
  checkWritable,
  isForbiddenName,
  joinBytes,
  isFileTensor,
} from "../tensor.ts";
import { type DictKey, nameOf, STORAGES, TORCH_DTYPES } from "./pickle-objects.ts";

/**
 * A dict with text as keys is an object; one with numbers as keys (an optimizer's `state`) is a Map.
 * Tuples and sets are arrays (a tuple that was read is written as one again), `torch.device` and `torch.dtype` are text,
 * whole numbers beyond 2⁵³ are bigint.
 */
export type PtValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | FileTensor
  | readonly PtValue[]
  | ReadonlyMap<DictKey, PtValue>
  | { readonly [key: string]: PtValue };

/** Arrays that are tuples in Python. Only the writer makes a difference. */
const tuples = new WeakSet<readonly PtValue[]>();

/** Marks an array to be written as a tuple, as PyTorch has `betas`. */
export function asTuple<T extends readonly PtValue[]>(items: T): T {
  tuples.add(items);
  return items;
}

export const isTuple = (items: readonly PtValue[]): boolean => tuples.has(items);

/** Values may be nested this deep, in what is written and in what is read. */
export const MAX_DEPTH = 64;
const encoder = new TextEncoder();
/** Lists and dicts are filled in batches, as by Python's pickler: readers hold a whole batch on their stack. */
const BATCH = 1000;

export interface Pickled {
  readonly pickle: Uint8Array;
  /** The bytes of each tensor; its place is the key of its storage. */
  readonly storages: readonly Uint8Array[];
}

/** A pickle and the storages it refers to. */
export function writePickle(value: PtValue, bad: BadFile): Pickled {
  const writer = new PickleWriter(bad);
  writer.value(value, "the value", 0);
  return writer.done();
}

/** A Map, or an object that is of no class. */
function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const proto: unknown = Object.getPrototypeOf(value);
  return value instanceof Map || proto === Object.prototype || proto === null;
}

class PickleWriter {
  readonly #parts: Uint8Array[] = [Uint8Array.of(0x80, 2)];
  readonly #storages: Uint8Array[] = [];
  readonly #bad: BadFile;

  constructor(bad: BadFile) {
    this.#bad = bad;
  }

  done(): Pickled {
    this.#op(".");
    return { pickle: joinBytes(this.#parts), storages: this.#storages };
  }

  /** `where` is the path to the value, for errors. */
  value(value: PtValue, where: string, depth: number): void {
    if (depth > MAX_DEPTH)
      throw this.#bad(`${where} is nested deeper than ${MAX_DEPTH} levels`, "Does it contain itself?");
    if (value === null) this.#op("N");
    else if (typeof value === "boolean") this.#op(value ? "\x88" : "\x89");
    else if (typeof value === "number") this.#number(value);
    else if (typeof value === "bigint") this.#long(value);
    else if (typeof value === "string") this.#text(value);
    else if (value instanceof Uint8Array) this.#blob(value);
    else if (isFileTensor(value)) this.#tensor(value, where);
    else if (Array.isArray(value)) this.#list(value as readonly PtValue[], where, depth);
    else this.#dict(value as ReadonlyMap<string, PtValue> | Record<string, PtValue>, where, depth);
  }

  #list(items: readonly PtValue[], where: string, depth: number): void {
    if (isTuple(items)) return this.#tuple(items, where, depth);
    this.#op("](");
    for (const [i, item] of items.entries()) {
      if (i > 0 && i % BATCH === 0) this.#op("e(");
      this.value(item, `${where}[${i}]`, depth + 1);
    }
    this.#op("e");
  }

  #tuple(items: readonly PtValue[], where: string, depth: number): void {
    this.#op("(");
    for (const [i, item] of items.entries()) this.value(item, `${where}[${i}]`, depth + 1);
    this.#op("t");
  }

  #dict(
    dict: ReadonlyMap<string | number | bigint, PtValue> | Record<string, PtValue>,
    where: string,
    depth: number,
  ): void {
    if (!isPlain(dict)) throw this.#bad(`${where} is ${show(dict)}`, "Only tensors and plain values can be written.");
    this.#op("}(");
    let count = 0;
    for (const [key, value] of dict instanceof Map ? dict : Object.entries(dict)) {
      if (count > 0 && count % BATCH === 0) this.#op("u(");
      count++;
      if (typeof key === "string" && isForbiddenName(key))
        throw this.#bad(`${where} has the forbidden key ${JSON.stringify(key)}`, "Use another name.");
      this.value(key, `a key of ${where}`, depth + 1);
      this.value(value, `${where}.${key}`, depth + 1);
    }
    this.#op("u");
  }

  /** Integers become Python's int, all other numbers its float. */
  #number(value: number): void {
    if (!Number.isSafeInteger(value) || Object.is(value, -0)) {
      this.#op("G", 8, (view) => view.setFloat64(1, value));
    } else if (value >= 0 && value < 256) this.#op("K", 1, (view) => view.setUint8(1, value));
    else if (value >= 0 && value < 65536) this.#op("M", 2, (view) => view.setUint16(1, value, true));
    else if (value >= -(2 ** 31) && value < 2 ** 31) this.#op("J", 4, (view) => view.setInt32(1, value, true));
    else this.#long(BigInt(value));
  }

  #long(value: bigint): void {
    const bytes: number[] = [];
    // As many bytes as leave the sign in the last one's first bit.
    for (let rest = value; bytes.length === 0 || BigInt.asIntN(8 * bytes.length, value) !== value; rest >>= 8n)
      bytes.push(Number(rest & 0xffn));
    if (bytes.length > 255)
      throw this.#bad(`a whole number of ${bytes.length} bytes`, "At most 255 bytes can be written.");
    this.#parts.push(Uint8Array.of(0x8a, bytes.length, ...bytes));
  }

  #text(text: string): void {
    const bytes = encoder.encode(text);
    this.#op("X", 4, (view) => view.setUint32(1, bytes.length, true));
    this.#parts.push(bytes);
  }

  /** Protocol 2 has no bytes: they are written as text that Python encodes. */
  #blob(bytes: Uint8Array): void {
    this.#op("c_codecs\nencode\n");
    this.#text(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    this.#text("latin1");
    this.#op("\x86R");
  }

  #tensor(tensor: FileTensor, where: string): void {
    checkWritable(where, tensor, this.#bad);
    const { dtype, shape, bytes } = tensor;
    const storage = nameOf(STORAGES, dtype);
    const type = nameOf(TORCH_DTYPES, dtype);
    if (type === undefined)
      throw this.#bad(`tensor ${where} is of type ${dtype}, which .pt files do not have`, "Write safetensors instead.");
    const typed = storage !== undefined;
    this.#op(`ctorch._utils\n_rebuild_tensor_v${typed ? 2 : 3}\n((`);
    this.#text("storage");
    this.#op(typed ? `ctorch\n${storage}\n` : "ctorch.storage\nUntypedStorage\n");
    this.#text(String(this.#storages.length));
    this.#text("cpu");
    this.#number(typed ? bytes.length / bytesPerElement(dtype) : bytes.length);
    this.#op("tQK\0");
    this.#wholes(shape);
    this.#wholes(shape.map((_, i) => shape.slice(i + 1).reduce((a, b) => a * b, 1)));
    // No gradient wanted, no hooks; the type where the storage has none.
    this.#op(`\x89ccollections\nOrderedDict\n)R${typed ? "" : `ctorch\n${type}\n`}tR`);
    this.#storages.push(bytes);
  }

  #wholes(values: readonly number[]): void {
    this.#op("(");
    for (const value of values) this.#number(value);
    this.#op("t");
  }

  /** Instructions, one per character, with room for an argument after them. */
  #op(codes: string, room = 0, fill?: (view: DataView) => void): void {
    const part = new Uint8Array(codes.length + room);
    for (let i = 0; i < codes.length; i++) part[i] = codes.charCodeAt(i);
    fill?.(new DataView(part.buffer));
    this.#parts.push(part);
  }
}
