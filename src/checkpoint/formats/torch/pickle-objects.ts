// What a pickle of PyTorch may describe: values, the names that are allowed, and the few calls, done on plain data.
// Nothing here can run code from a file.
import { type BadFile, type FileDType, type FileTensor, bytesPerElement, quote, sizeInBytes } from "../tensor.ts";

/** Storage classes of module `torch`; types without one have an untyped storage and their own dtype. */
export const STORAGES: Readonly<Record<string, FileDType>> = {
  FloatStorage: "F32",
  DoubleStorage: "F64",
  HalfStorage: "F16",
  BFloat16Storage: "BF16",
  LongStorage: "I64",
  IntStorage: "I32",
  ShortStorage: "I16",
  CharStorage: "I8",
  ByteStorage: "U8",
  BoolStorage: "BOOL",
  ComplexFloatStorage: "C64",
};

/** `torch.dtype`s by name. */
export const TORCH_DTYPES: Readonly<Record<string, FileDType>> = {
  float32: "F32",
  float64: "F64",
  float16: "F16",
  bfloat16: "BF16",
  int64: "I64",
  int32: "I32",
  int16: "I16",
  int8: "I8",
  uint8: "U8",
  uint16: "U16",
  uint32: "U32",
  uint64: "U64",
  bool: "BOOL",
  complex64: "C64",
  float8_e4m3fn: "F8_E4M3",
  float8_e5m2: "F8_E5M2",
  float8_e4m3fnuz: "F8_E4M3FNUZ",
  float8_e5m2fnuz: "F8_E5M2FNUZ",
  float8_e8m0fnu: "F8_E8M0",
};

/** The name of a type in one of the tables above. */
export const nameOf = (table: Readonly<Record<string, FileDType>>, dtype: FileDType): string | undefined =>
  Object.keys(table).find((name) => table[name] === dtype);

/** A Python tuple; lists are arrays. */
export class Tuple {
  readonly items: readonly PickleValue[];
  constructor(items: readonly PickleValue[]) {
    this.items = items;
  }
}

/** An allowed Python name that the pickle uses. */
class Global {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** The bytes of one or more tensors. It has no type when each tensor has its own. */
class Storage {
  readonly dtype: FileDType | undefined;
  readonly bytes: Uint8Array;
  constructor(dtype: FileDType | undefined, bytes: Uint8Array) {
    this.dtype = dtype;
    this.bytes = bytes;
  }
}

export class PickleTensor {
  readonly tensor: FileTensor;
  constructor(tensor: FileTensor) {
    this.tensor = tensor;
  }
}

export type DictKey = string | number | bigint;
export type Dict = Map<DictKey, PickleValue>;

export type PickleValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | PickleValue[]
  | Tuple
  | Dict
  | Global
  | Storage
  | PickleTensor;

/** What a value is, for messages. */
export function kindOf(value: PickleValue | undefined): string {
  if (value === undefined) return "nothing";
  if (value === null) return "None";
  if (Array.isArray(value)) return "a list";
  if (value instanceof Map) return "a dict";
  if (value instanceof Tuple) return "a tuple";
  if (value instanceof Global) return value.name.replace(" ", ".");
  if (value instanceof Storage) return "a storage";
  if (value instanceof PickleTensor) return "a tensor";
  return value instanceof Uint8Array ? "bytes" : `a ${typeof value}`;
}

const UNTYPED = "torch.storage UntypedStorage";
const PLAIN_DATA =
  "Nothing in a file is ever run here. In Python, save tensors and plain values only, as torch.save(model.state_dict(), path) does; use float(x) for NumPy numbers.";

type Call = (args: readonly PickleValue[], rebuild: TorchRebuild) => PickleValue;

const CALLS: Readonly<Record<string, Call>> = {
  "collections OrderedDict": (args, to) => to.empty(args, new Map()),
  "collections Counter": ([dict], to) => (dict instanceof Map ? dict : to.refuse("Counter", [dict])),
  "__builtin__ set": ([items], to) => (Array.isArray(items) ? items : to.refuse("set", [items])),
  "_codecs encode": (args, to) => to.encode(args),
  "torch Size": ([sizes], to) => (sizes instanceof Tuple ? sizes : to.refuse("torch.Size", [sizes])),
  "torch device": (args, to) => to.device(args),
  "torch._utils _rebuild_tensor_v2": (args, to) => to.tensor(args, undefined),
  "torch._utils _rebuild_tensor_v3": (args, to) => to.tensor([...args.slice(0, 6), ...args.slice(7)], args[6]),
  "torch._utils _rebuild_parameter": ([tensor], to) =>
    tensor instanceof PickleTensor ? tensor : to.refuse("_rebuild_parameter", [tensor]),
};

/** The names that a pickle may use: the calls, the storage classes and the element types. */
const ALLOWED: ReadonlyMap<string, Global> = new Map(
  [
    ...Object.keys(CALLS),
    UNTYPED,
    ...Object.keys(STORAGES).map((name) => `torch ${name}`),
    ...Object.keys(TORCH_DTYPES).map((name) => `torch ${name}`),
  ].map((name) => [name, new Global(name)]),
);

/** `torch float32` → F32; undefined for other names. */
const find = (table: Readonly<Record<string, FileDType>>, { name }: Global): FileDType | undefined =>
  name.startsWith("torch ") && Object.hasOwn(table, name.slice(6)) ? table[name.slice(6)] : undefined;

export class TorchRebuild {
  readonly #storage: (key: string) => Uint8Array | undefined;
  readonly #bad: BadFile;
  /** Bytes that may still be copied. With the file itself, never more than twice its size. */
  #copies: number;

  /** `storage` gives the bytes of a storage by its key; `mostCopied` bounds what views and texts may be copied into. */
  constructor(storage: (key: string) => Uint8Array | undefined, mostCopied: number, bad: BadFile) {
    this.#storage = storage;
    this.#copies = mostCopied;
    this.#bad = bad;
  }

  /** The allowed name `module name`. */
  global(module: string, name: string): Global {
    const found = ALLOWED.get(`${module} ${name}`);
    if (found === undefined)
      throw this.#bad(`its pickle asks for the Python object ${quote(`${module}.${name}`)}`, PLAIN_DATA);
    return found;
  }

  /** The result of a call of an allowed name. */
  call(callee: PickleValue, args: PickleValue): PickleValue {
    const call = callee instanceof Global && Object.hasOwn(CALLS, callee.name) ? CALLS[callee.name] : undefined;
    if (call === undefined || !(args instanceof Tuple))
      throw this.#bad(`its pickle calls ${kindOf(callee)}`, PLAIN_DATA);
    return call(args.items, this);
  }

  refuse(what: string, args: readonly (PickleValue | undefined)[]): never {
    throw this.#bad(`its pickle calls ${what} with ${args.map(kindOf).join(", ") || "nothing"}`);
  }

  empty(args: readonly PickleValue[], value: PickleValue): PickleValue {
    return args.length === 0 ? value : this.refuse("OrderedDict", args);
  }

  /** Protocol 2 writes bytes as text to be encoded. */
  encode([text, encoding]: readonly PickleValue[]): Uint8Array {
    if (typeof text !== "string" || encoding !== "latin1")
      return this.refuse("_codecs.encode", [text, encoding ?? null]);
    this.#copy(text.length);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes;
  }

  /** A device is only text here: "cpu", "cuda:0". */
  device([type, index]: readonly PickleValue[]): string {
    if (typeof type !== "string") return this.refuse("torch.device", [type]);
    return typeof index === "number" ? `${type}:${index}` : type;
  }

  /** A reference to a storage: ("storage", class, key, location, elements). */
  storage(id: PickleValue): Storage {
    const [kind, type, key, , count] = id instanceof Tuple ? id.items : [];
    const dtype = type instanceof Global ? find(STORAGES, type) : undefined;
    const untyped = type instanceof Global && type.name === UNTYPED;
    if (kind !== "storage" || (dtype === undefined && !untyped) || typeof key !== "string" || typeof count !== "number")
      throw this.#bad("its pickle refers to something other than a storage", PLAIN_DATA);
    const bytes = this.#storage(key);
    if (bytes === undefined) throw this.#bad(`it lacks the storage ${quote(key)}`);
    const size = dtype === undefined ? count : count * bytesPerElement(dtype);
    if (size !== bytes.length)
      throw this.#bad(`its storage ${quote(key)} has ${bytes.length} bytes, not ${size} as its pickle says`);
    return new Storage(dtype, bytes);
  }

  /** (storage, offset, size, stride, requires_grad, hooks[, metadata]), and the element type when the storage has none. */
  tensor(args: readonly PickleValue[], type: PickleValue | undefined): PickleTensor {
    const [storage, offset, size, stride, , hooks, metadata] = args;
    if (!(storage instanceof Storage)) return this.refuse("_rebuild_tensor", [storage]);
    const dtype = storage.dtype ?? (type instanceof Global ? find(TORCH_DTYPES, type) : undefined);
    if (dtype === undefined) return this.refuse("_rebuild_tensor", [storage, type]);
    const isEmpty = (value: PickleValue | undefined): boolean => value instanceof Map && value.size === 0;
    if (!isEmpty(hooks) || (metadata !== undefined && metadata !== null && !isEmpty(metadata)))
      throw this.#bad("it has a tensor with hooks or lazy bits", "In Python, save tensor.detach().clone() instead.");
    const [shape, strides] = [this.#wholes(size), this.#wholes(stride)];
    if (typeof offset !== "number" || !Number.isSafeInteger(offset) || offset < 0 || shape.length !== strides.length)
      throw this.#bad("it has a tensor whose offset, size and stride do not fit together");
    return new PickleTensor({ dtype, shape, bytes: this.#elements(storage.bytes, dtype, offset, shape, strides) });
  }

  #wholes(value: PickleValue | undefined): number[] {
    const items = value instanceof Tuple ? value.items : [undefined];
    return items.map((item) => {
      if (typeof item === "number" && Number.isSafeInteger(item) && item >= 0) return item;
      throw this.#bad(`it has a tensor whose size or stride contains ${kindOf(item ?? undefined)}`);
    });
  }

  /** The bytes of a tensor inside its storage: a view when it is contiguous, else a copy in row-major order. */
  #elements(
    bytes: Uint8Array,
    dtype: FileDType,
    offset: number,
    shape: readonly number[],
    strides: readonly number[],
  ): Uint8Array {
    const size = sizeInBytes(dtype, shape);
    if (typeof size === "string") throw this.#bad(`it has a tensor with ${size}`);
    if (size === 0) return bytes.subarray(0, 0);
    const width = bytesPerElement(dtype);
    const last = shape.reduce((sum, dimension, i) => sum + (dimension - 1) * strides[i]!, offset);
    if (!((last + 1) * width <= bytes.length))
      throw this.#bad(`it has a tensor [${shape.join(", ")}] that extends past the end of its storage`);
    if (last - offset + 1 === size / width && isRowMajor(shape, strides))
      return bytes.subarray(offset * width, offset * width + size);
    this.#copy(size);
    return gather(bytes, width, offset, shape, strides, size);
  }

  #copy(size: number): void {
    this.#copies -= size;
    if (this.#copies < 0)
      throw this.#bad(
        "its tensors are views that would take more room than the file",
        "In Python, call .contiguous() on them before saving.",
      );
  }
}

function isRowMajor(shape: readonly number[], strides: readonly number[]): boolean {
  let expected = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    if (shape[i] !== 1 && strides[i] !== expected) return false;
    expected *= shape[i]!;
  }
  return true;
}

function gather(
  bytes: Uint8Array,
  width: number,
  offset: number,
  shape: readonly number[],
  strides: readonly number[],
  size: number,
): Uint8Array {
  const result = new Uint8Array(size);
  const index = shape.map(() => 0);
  let from = offset * width;
  for (let to = 0; to < size; to += width) {
    for (let k = 0; k < width; k++) result[to + k] = bytes[from + k]!;
    // The next element: count up the last dimension, carrying over.
    for (let d = shape.length - 1; d >= 0; d--) {
      from += strides[d]! * width;
      if (++index[d]! < shape[d]!) break;
      index[d] = 0;
      from -= strides[d]! * shape[d]! * width;
    }
  }
  return result;
}
