// What a .pt file holds, as plain values, and how the reader's objects become such.
import { quote, type BadFile } from "./bad-file.ts";
import { kindOf, PickleTensor, Tuple, type Dict, type DictKey, type PickleValue } from "./pickle-values.ts";
import { isTrap, type FileTensor } from "./tensor.ts";

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

export const isFileTensor = (value: unknown): value is FileTensor =>
  typeof value === "object" &&
  value !== null &&
  (value as FileTensor).bytes instanceof Uint8Array &&
  typeof (value as FileTensor).dtype === "string" &&
  Array.isArray((value as FileTensor).shape);

/** Arrays that Python has as tuples: to everyone here they are arrays like others, and only the writer asks. */
const tuples = new WeakSet<readonly PtValue[]>();

/** Marks an array to be written as a tuple, as PyTorch has `betas`. */
export function asTuple<T extends readonly PtValue[]>(items: T): T {
  tuples.add(items);
  return items;
}

export const isTuple = (items: readonly PtValue[]): boolean => tuples.has(items);

export const MAX_DEPTH = 64;
/** The tree that the objects of a pickle of `size` bytes spell out. */
export function toPlain(value: PickleValue, size: number, bad: BadFile): PtValue {
  // Every value takes a byte or more, unless a part is used again and again: some of that is honest, doubling is not.
  const mostNodes = 1000 + 4 * size;
  // A long name may well come again for two bytes.
  const mostText = 1_000_000 + 64 * size;
  let [nodes, text] = [0, 0];
  const count = (length: number): void => {
    text += length;
    if (text > mostText) throw bad(`it spells out more than ${mostText} characters from ${size} bytes`);
  };

  const visit = (each: PickleValue, depth: number): PtValue => {
    if (depth > MAX_DEPTH) throw bad(`it is nested deeper than ${MAX_DEPTH} levels, or contains itself`);
    if (++nodes > mostNodes) throw bad(`it spells out more than ${mostNodes} values from ${size} bytes`);
    if (each instanceof PickleTensor) return each.tensor;
    if (each instanceof Map) return dict(each, depth);
    if (each instanceof Tuple) return asTuple(each.items.map((item) => visit(item, depth + 1)));
    if (Array.isArray(each)) return each.map((item) => visit(item, depth + 1));
    if (typeof each === "string" || each instanceof Uint8Array) {
      count(each.length);
      return each;
    }
    if (each === null || typeof each !== "object") return each;
    return leaf(each, bad);
  };

  const dict = (entries: Dict, depth: number): PtValue => {
    const keys = [...entries.keys()];
    if (!keys.every((key) => typeof key === "string"))
      return new Map(keys.map((key) => [key, visit(entries.get(key)!, depth + 1)]));
    const plain = Object.create(null) as Record<string, PtValue>;
    for (const key of keys) {
      if (isTrap(key)) throw bad(`it has the forbidden key ${quote(key)}`);
      count(key.length);
      plain[key] = visit(entries.get(key)!, depth + 1);
    }
    return plain;
  };

  return visit(value, 0);
}

/** Names that stand for themselves: `torch.float32`. */
function leaf(value: PickleValue, bad: BadFile): string {
  const name = kindOf(value);
  if (/^torch\.[a-z]\w*\d\w*$|^torch\.bool$/.test(name)) return name;
  throw bad(`it has ${name} where a value should be`);
}
