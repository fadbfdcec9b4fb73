// Reads protocol 2 pickles as data. It knows the 31 opcodes of PyTorch's files, and none of them can run code.
import { type BadFile, quote } from "../tensor.ts";
import { type DictKey, type PickleValue, type TorchRebuild, Tuple, kindOf } from "./pickle-objects.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * How many containers a pickle of this size may create. Picklers spend at least three bytes on each; a tensor has five
 * containers and 100 bytes, so the limit allows a hundred thousand tensors.
 */
const mostObjects = (size: number): number => Math.min(500_000, 1000 + size / 3);
/** Values on the stack. Picklers fill lists and dicts in batches of a thousand. */
const MAX_STACK = 50_000;

/** The value that a pickle describes. */
export const readPickle = (bytes: Uint8Array, rebuild: TorchRebuild, bad: BadFile): PickleValue =>
  new PickleReader(bytes, rebuild, bad).run();

class PickleReader {
  readonly #bytes: PickleBytes;
  readonly #rebuild: TorchRebuild;
  readonly #bad: BadFile;
  readonly #stack: PickleValue[] = [];
  /** Heights of the stack at each open mark. */
  readonly #marks: number[] = [];
  readonly #memo = new Map<number, PickleValue>();
  readonly #most: number;
  #objects = 0;

  constructor(bytes: Uint8Array, rebuild: TorchRebuild, bad: BadFile) {
    this.#bytes = new PickleBytes(bytes, bad);
    this.#rebuild = rebuild;
    this.#bad = bad;
    this.#most = mostObjects(bytes.length);
  }

  run(): PickleValue {
    if (this.#bytes.byte() !== 0x80 || this.#bytes.byte() !== 2)
      throw this.#bad(
        "its pickle is not of protocol 2",
        "Save it again with torch.save and its default pickle_protocol.",
      );
    // 0x2e is STOP, which must be the last byte.
    for (let op = this.#bytes.byte(); op !== 0x2e; op = this.#bytes.byte()) {
      this.#do(op);
      if (this.#stack.length > MAX_STACK) throw this.#bad(`its pickle piles up more than ${MAX_STACK} values`);
    }
    if (this.#bytes.at !== this.#bytes.length || this.#stack.length !== 1 || this.#marks.length > 0)
      throw this.#bad("its pickle does not end with exactly one value");
    return this.#stack[0]!;
  }

  #do(op: number): void {
    const stack = this.#stack;
    switch (op) {
      case 0x28: // MARK
        return void this.#marks.push(stack.length);
      case 0x4e: // NONE
        return void stack.push(null);
      case 0x88: // NEWTRUE
        return void stack.push(true);
      case 0x89: // NEWFALSE
        return void stack.push(false);
      case 0x4b: // BININT1
        return void stack.push(this.#bytes.byte());
      case 0x4d: // BININT2
        return void stack.push(this.#bytes.uint16());
      case 0x4a: // BININT
        return void stack.push(this.#bytes.int32());
      case 0x8a: // LONG1
        return void stack.push(this.#bytes.long(this.#bytes.byte()));
      case 0x47: // BINFLOAT
        return void stack.push(this.#bytes.float64());
      case 0x58: // BINUNICODE
        return void stack.push(this.#bytes.text(this.#bytes.uint32()));
      case 0x7d: // EMPTY_DICT
        return this.#push(new Map());
      case 0x5d: // EMPTY_LIST
        return this.#push([]);
      case 0x29: // EMPTY_TUPLE
        return this.#push(new Tuple([]));
      case 0x85: // TUPLE1
        return this.#push(new Tuple([this.#pop()]));
      case 0x86: // TUPLE2
        return this.#pushTuple(2);
      case 0x87: // TUPLE3
        return this.#pushTuple(3);
      case 0x74: // TUPLE
        return this.#push(new Tuple(this.#popMark()));
      case 0x73: // SETITEM
        return this.#set(this.#take(2));
      case 0x75: // SETITEMS
        return this.#set(this.#popMark());
      case 0x61: // APPEND
        return this.#append([this.#pop()]);
      case 0x65: // APPENDS
        return this.#append(this.#popMark());
      case 0x63: // GLOBAL
        return void stack.push(this.#rebuild.global(this.#bytes.line(), this.#bytes.line()));
      case 0x52: // REDUCE
        return this.#reduce();
      case 0x62: // BUILD
        return this.#build();
      case 0x51: // BINPERSID
        return void stack.push(this.#rebuild.storage(this.#pop()));
      case 0x71: // BINPUT
        return this.#put(this.#bytes.byte());
      case 0x72: // LONG_BINPUT
        return this.#put(this.#bytes.uint32());
      case 0x68: // BINGET
        return this.#get(this.#bytes.byte());
      case 0x6a: // LONG_BINGET
        return this.#get(this.#bytes.uint32());
      default:
        throw this.#bad(
          `its pickle has the instruction 0x${op.toString(16)} at byte ${this.#bytes.at - 1}, which no file of tensors needs`,
          "Nothing in a file is ever run here. In Python, save it again with torch.save(model.state_dict(), path).",
        );
    }
  }

  #push(value: PickleValue): void {
    if (++this.#objects > this.#most) throw this.#bad(`its pickle makes too many objects, ${this.#objects}`);
    this.#stack.push(value);
  }

  /** The top `count` values, not reaching below the last mark. */
  #take(count: number): PickleValue[] {
    const floor = this.#marks.at(-1) ?? 0;
    if (this.#stack.length - count < floor) throw this.#bad("its pickle takes a value that is not there");
    return this.#stack.splice(this.#stack.length - count);
  }

  #pushTuple(count: number): void {
    this.#push(new Tuple(this.#take(count)));
  }

  #pop(): PickleValue {
    if (this.#stack.length <= (this.#marks.at(-1) ?? 0)) throw this.#bad("its pickle takes a value that is not there");
    return this.#stack.pop()!;
  }

  #top(): PickleValue {
    if (this.#stack.length <= (this.#marks.at(-1) ?? 0)) throw this.#bad("its pickle uses a value that is not there");
    return this.#stack.at(-1)!;
  }

  #popMark(): PickleValue[] {
    const mark = this.#marks.pop();
    if (mark === undefined) throw this.#bad("its pickle closes what it did not open");
    return this.#stack.splice(mark);
  }

  #set(items: readonly PickleValue[]): void {
    const dict = this.#top();
    if (!(dict instanceof Map)) throw this.#bad(`its pickle sets an item of ${kindOf(dict)}`);
    if (items.length % 2 !== 0) throw this.#bad("its pickle sets a key without a value");
    for (let i = 0; i < items.length; i += 2) {
      const key = this.#key(items[i]!);
      if (dict.has(key)) throw this.#bad(`its pickle sets the key ${quote(String(key))} twice`);
      dict.set(key, items[i + 1]!);
    }
  }

  #key(key: PickleValue): DictKey {
    if (typeof key === "string" || typeof key === "number" || typeof key === "bigint") return key;
    throw this.#bad(
      `it has a dict with ${kindOf(key)} as a key`,
      "Only text and numbers can be keys here: save a dict with such keys from Python.",
    );
  }

  #append(items: readonly PickleValue[]): void {
    const list = this.#top();
    if (!Array.isArray(list)) throw this.#bad(`its pickle appends to ${kindOf(list)}`);
    for (const item of items) list.push(item);
  }

  #reduce(): void {
    const args = this.#pop();
    const result = this.#rebuild.call(this.#pop(), args);
    if (result instanceof Map) this.#push(result);
    else this.#stack.push(result);
  }

  /** The state of an OrderedDict is `_metadata`, the versions of PyTorch's modules: checked to be data and left out. */
  #build(): void {
    const state = this.#pop();
    const value = this.#top();
    if (!(value instanceof Map) || !(state instanceof Map))
      throw this.#bad(`its pickle sets the state of ${kindOf(value)}`);
  }

  #put(index: number): void {
    this.#memo.set(index, this.#top());
  }

  #get(index: number): void {
    const value = this.#memo.get(index);
    if (value === undefined) throw this.#bad(`its pickle uses memo ${index}, which it did not set`);
    this.#stack.push(value);
  }
}

/** The bytes of a pickle, read in order. Reading past the end is an error. */
class PickleBytes {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #bad: BadFile;
  #at = 0;

  constructor(bytes: Uint8Array, bad: BadFile) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#bad = bad;
  }

  get at(): number {
    return this.#at;
  }

  get length(): number {
    return this.#bytes.length;
  }

  /** Advances by `length` bytes and returns where they begin. */
  #skip(length: number): number {
    const from = this.#at;
    this.#at += length;
    if (this.#at > this.#bytes.length) throw this.#bad("its pickle ends in the middle");
    return from;
  }

  byte(): number {
    return this.#bytes[this.#skip(1)]!;
  }

  uint16(): number {
    return this.#view.getUint16(this.#skip(2), true);
  }

  uint32(): number {
    return this.#view.getUint32(this.#skip(4), true);
  }

  int32(): number {
    return this.#view.getInt32(this.#skip(4), true);
  }

  /** The only big-endian number in pickles. */
  float64(): number {
    return this.#view.getFloat64(this.#skip(8));
  }

  text(length: number): string {
    const from = this.#skip(length);
    try {
      return utf8.decode(this.#bytes.subarray(from, this.#at));
    } catch {
      throw this.#bad("its pickle has a text that is not valid UTF-8");
    }
  }

  /** A line, as names have them. Real ones are short. */
  line(): string {
    const end = this.#bytes.subarray(this.#at, this.#at + 200).indexOf(0x0a);
    if (end < 0) throw this.#bad("its pickle has a name without an end");
    const line = this.text(end);
    this.#skip(1);
    return line;
  }

  /** A whole number of any size in two's complement. */
  long(length: number): number | bigint {
    const from = this.#skip(length);
    let value = 0n;
    for (let i = length - 1; i >= 0; i--) value = (value << 8n) | BigInt(this.#bytes[from + i]!);
    value = BigInt.asIntN(8 * length, value);
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }
}
