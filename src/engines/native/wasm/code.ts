// The body of one wasm function while it is written: instructions, locals and loops.
import {
  type Address,
  type Bytes,
  type Instruction,
  type ValueType,
  encode,
  float32,
  signed,
  unsigned,
} from "./module.ts";

/** A local variable. */
export interface Local {
  readonly index: number;
  readonly type: ValueType;
}

export class Code {
  readonly bytes: Bytes = [];
  readonly locals: ValueType[] = [];
  readonly params: readonly ValueType[];
  /** The type of pointers. */
  readonly pointer: Address;
  readonly #addresses: readonly Local[];

  /** The body of a function that takes so many addresses, and behind them so many counts. */
  constructor(addresses: number, counts = 0, pointer: Address = "i32") {
    this.pointer = pointer;
    // JavaScript passes i64 as a bigint, which takes longer than the call. A float64 keeps an address exactly.
    const given: ValueType[] = Array.from({ length: addresses }, () => (pointer === "i64" ? "f64" : "i32"));
    this.params = [...given, ...Array.from({ length: counts }, (): ValueType => "i32")];
    this.#addresses = given.map((type, index): Local => {
      const param = { index, type };
      return pointer === "i64" ? this.get(param).op("i64.trunc_f64_u").keep("i64") : param;
    });
  }

  /** An address that it was given. */
  address(index: number): Local {
    return this.#addresses[index]!;
  }

  /** A count that it was given. */
  count(index: number): Local {
    return { index: this.#addresses.length + index, type: "i32" };
  }

  local(type: ValueType): Local {
    this.locals.push(type);
    return { index: this.params.length + this.locals.length - 1, type };
  }

  op(...names: Instruction[]): this {
    for (const name of names) this.bytes.push(...encode(name));
    return this;
  }

  get(local: Local): this {
    return this.#raw(0x20, ...unsigned(local.index));
  }

  set(local: Local): this {
    return this.#raw(0x21, ...unsigned(local.index));
  }

  /** Sets it and leaves the value. */
  tee(local: Local): this {
    return this.#raw(0x22, ...unsigned(local.index));
  }

  /** The value on the stack goes into a new local. */
  keep(type: ValueType): Local {
    const local = this.local(type);
    this.set(local);
    return local;
  }

  i32(value: number): this {
    return this.#raw(0x41, ...signed(value | 0));
  }

  f32(value: number): this {
    return this.#raw(0x43, ...float32(value));
  }

  /** The same number in all four lanes. */
  splat(value: number, type: "i32" | "f32"): this {
    const lane = type === "f32" ? float32(value) : [...new Uint8Array(Int32Array.of(value).buffer)];
    return this.#raw(0xfd, 12, ...lane, ...lane, ...lane, ...lane);
  }

  /** The lanes 0, 1, 2, 3. */
  lanes(): this {
    return this.#raw(0xfd, 12, ...new Uint8Array(Int32Array.of(0, 1, 2, 3).buffer));
  }

  extract(type: "i32" | "f32", lane: number): this {
    return this.#raw(0xfd, type === "f32" ? 0x1f : 0x1b, lane);
  }

  /** From the address on the stack. */
  load(type: ValueType): this {
    if (type === "v128") return this.#raw(0xfd, 0, 2, 0);
    return this.#raw(type === "f32" ? 0x2a : 0x28, 2, 0);
  }

  /** One number in all four lanes. */
  loadSplat(): this {
    return this.#raw(0xfd, 9, 2, 0);
  }

  /** Every other number, four of them: those behind the last one are not touched. */
  loadEven(address: Local): this {
    this.get(address).load("v128").get(address).#raw(0xfd, 0, 2, 12);
    return this.#shuffle(0, 2, 5, 7);
  }

  /** Two vectors side by side, their lanes in turn. */
  storeInTurn(address: Local, even: Local, odd: Local): void {
    this.get(address).get(even).get(odd).#shuffle(0, 4, 1, 5).store("v128");
    this.get(address).get(even).get(odd).#shuffle(2, 6, 3, 7).#raw(0xfd, 11, 2, 16);
  }

  /** Each lane so many numbers behind the one before it. */
  storeApart(address: Local, vector: Local, stride: number): void {
    for (let lane = 0; lane < 4; lane++)
      this.get(address).get(vector).#raw(0xfd, 0x5a, 2, ...unsigned(lane * stride * 4), lane);
  }

  /** Four lanes of the two vectors on the stack, which have the numbers 0 to 3 and 4 to 7. */
  #shuffle(...lanes: number[]): this {
    return this.#raw(0xfd, 13, ...lanes.flatMap((lane) => [0, 1, 2, 3].map((byte) => 4 * lane + byte)));
  }

  /** To the address below the value on the stack. */
  store(type: ValueType): this {
    if (type === "v128") return this.#raw(0xfd, 11, 2, 0);
    return this.#raw(type === "f32" ? 0x38 : 0x36, 2, 0);
  }

  /** Adds to the address on the stack. */
  addBytes(bytes: number): this {
    return this.#plus(this.pointer, bytes);
  }

  /** Adds `by` × bytes to the address on the stack. */
  addTimes(by: Local, bytes: number): this {
    this.get(by);
    if (this.pointer === "i32") return this.i32(bytes).op("i32.mul", "i32.add");
    return this.op("i64.extend_i32_s").#raw(0x42, ...signed(bytes)).op("i64.mul", "i64.add");
  }

  /** To a pointer, or a count. */
  advance(local: Local, by: number): void {
    if (by !== 0) this.get(local).#plus(local.type, by).set(local);
  }

  /** pointer += by × bytes */
  advanceBy(pointer: Local, by: Local, bytes: number): void {
    if (bytes !== 0) this.get(pointer).addTimes(by, bytes).set(pointer);
  }

  #plus(type: ValueType, value: number): this {
    if (type !== "i64") return this.i32(value).op("i32.add");
    return this.#raw(0x42, ...signed(value)).op("i64.add");
  }

  /** Runs `body` that many times. */
  repeat(count: number | Local, body: () => void): void {
    if (typeof count !== "number") return this.#repeatUnknown(count, body);
    if (count === 0) return;
    if (count === 1) return body();
    this.#loop(this.i32(count).keep("i32"), body);
  }

  /** As often as a number says that is known only when it runs, and may be 0. */
  #repeatUnknown(count: Local, body: () => void): void {
    const left = this.get(count).keep("i32");
    this.get(left).#raw(0x04, 0x40);
    this.#loop(left, body);
    this.#raw(0x0b);
  }

  #loop(left: Local, body: () => void): void {
    this.#raw(0x03, 0x40);
    body();
    this.get(left).i32(1).op("i32.sub").tee(left);
    this.#raw(0x0d, 0, 0x0b);
  }

  /** Fills bytes with zeros; address and length are on the stack around the value. */
  clearBytes(address: Local, bytes: number): this {
    this.get(address).i32(0);
    return (this.pointer === "i64" ? this.#raw(0x42, ...signed(bytes)) : this.i32(bytes)).#raw(0xfc, 11, 0);
  }

  #raw(...bytes: Bytes): this {
    this.bytes.push(...bytes);
    return this;
  }
}
