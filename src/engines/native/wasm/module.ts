// Writes a wasm module: functions over one imported memory. As much of the binary format as kernels need.

export type Bytes = number[];

/** Whole numbers in seven-bit groups, the lowest first. */
export function unsigned(value: number): Bytes {
  const out: Bytes = [];
  let rest = value;
  do {
    const low = rest % 128;
    rest = Math.floor(rest / 128);
    out.push(rest > 0 ? low | 0x80 : low);
  } while (rest > 0);
  return out;
}

/** The same with a sign. */
export function signed(value: number): Bytes {
  const out: Bytes = [];
  let rest = value;
  for (;;) {
    // Division, as shifts know 32 bits only; numbers of 32 bits are by far the most.
    const low = rest & 0x7f;
    rest = rest === (rest | 0) ? rest >> 7 : (rest - low) / 128;
    const done = (rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0);
    out.push(done ? low : low | 0x80);
    if (done) return out;
  }
}

export function float32(value: number): Bytes {
  return [...new Uint8Array(Float32Array.of(value).buffer)];
}

const list = (items: readonly Bytes[]): Bytes => [...unsigned(items.length), ...items.flat()];
const section = (id: number, content: Bytes): Bytes => [id, ...unsigned(content.length), ...content];
const name = (text: string): Bytes => list([...new TextEncoder().encode(text)].map((byte) => [byte]));

const VALUE_TYPES = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b } as const;
export type ValueType = keyof typeof VALUE_TYPES;

export interface WasmFunction {
  readonly name: string;
  /** It returns nothing. */
  readonly params: readonly ValueType[];
  readonly locals: readonly ValueType[];
  readonly body: Bytes;
}

/** The type of a memory's addresses: of 64 bits if it may become larger than 4 GiB. */
export type Address = "i32" | "i64";

export interface MemoryKind {
  readonly address: Address;
  /** Threads share it. Then the format wants to know how large it may become. */
  readonly isShared: boolean;
}

/** 4 GiB, and what V8 has for addresses of 64 bits: 16 GiB. */
export const MOST_PAGES: Readonly<Record<Address, number>> = { i32: 2 ** 16, i64: 2 ** 18 };

/** "\0asm", version 1. */
const MAGIC = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0] as const;

/** The memory is imported as `env.memory`; the functions are exported by their names. */
export function assemble(
  functions: readonly WasmFunction[],
  { address, isShared }: MemoryKind,
): Uint8Array<ArrayBuffer> {
  const signatures = functions.map(({ params }) => params.join());
  const distinct = [...new Set(signatures)];
  const types = distinct.map((signature) => {
    const { params } = functions[signatures.indexOf(signature)]!;
    return [0x60, ...list(params.map((type) => [VALUE_TYPES[type]])), 0];
  });
  const wide = address === "i64" ? 0x04 : 0;
  const limits = isShared ? [0x03 | wide, 0, ...unsigned(MOST_PAGES[address])] : [wide, 0];
  const memory = [...name("env"), ...name("memory"), 0x02, ...limits];
  const code = functions.flatMap(({ locals, body }) => {
    const head = unsigned(locals.length);
    for (const type of locals) head.push(1, VALUE_TYPES[type]);
    return [unsigned(head.length + body.length + 1), head, body, [0x0b]];
  });
  const count = unsigned(functions.length);
  return join([
    MAGIC,
    section(1, list(types)),
    section(2, list([memory])),
    section(3, list(signatures.map((signature) => unsigned(distinct.indexOf(signature))))),
    section(7, list(functions.map((fn, i) => [...name(fn.name), 0x00, ...unsigned(i)]))),
    // Section 10, by far the largest: its parts are copied once.
    [10, ...unsigned(count.length + lengthOf(code)), ...count],
    ...code,
  ]);
}

const lengthOf = (parts: readonly (readonly number[])[]): number => parts.reduce((sum, { length }) => sum + length, 0);

function join(parts: readonly (readonly number[])[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(lengthOf(parts));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

// The instructions that kernels use, by name. Those of 128-bit vectors have a prefix and a number of their own.

const PLAIN = {
  "i32.eqz": 0x45,
  "i32.eq": 0x46,
  "i32.ne": 0x47,
  "i32.lt_s": 0x48,
  "i32.lt_u": 0x49,
  "i32.le_s": 0x4c,
  "i32.le_u": 0x4d,
  "f32.eq": 0x5b,
  "f32.ne": 0x5c,
  "f32.lt": 0x5d,
  "f32.gt": 0x5e,
  "f32.le": 0x5f,
  "i32.popcnt": 0x69,
  "i32.add": 0x6a,
  "i32.sub": 0x6b,
  "i32.mul": 0x6c,
  "i32.div_s": 0x6d,
  "i32.div_u": 0x6e,
  "i32.rem_s": 0x6f,
  "i32.rem_u": 0x70,
  "i32.and": 0x71,
  "i32.or": 0x72,
  "i32.xor": 0x73,
  "i32.shl": 0x74,
  "i32.shr_s": 0x75,
  "i32.shr_u": 0x76,
  "i64.add": 0x7c,
  "i64.mul": 0x7e,
  "f32.abs": 0x8b,
  "f32.neg": 0x8c,
  "f32.ceil": 0x8d,
  "f32.floor": 0x8e,
  "f32.trunc": 0x8f,
  "f32.nearest": 0x90,
  "f32.sqrt": 0x91,
  "f32.add": 0x92,
  "f32.sub": 0x93,
  "f32.mul": 0x94,
  "f32.div": 0x95,
  "f32.min": 0x96,
  "f32.max": 0x97,
  "i64.extend_i32_s": 0xac,
  "i64.trunc_f64_u": 0xb1,
  "f32.convert_i32_s": 0xb2,
  "f32.convert_i32_u": 0xb3,
  "i32.reinterpret_f32": 0xbc,
  "f32.reinterpret_i32": 0xbe,
  select: 0x1b,
} as const;

const SATURATING = { "i32.trunc_sat_f32_s": 0, "i32.trunc_sat_f32_u": 1 } as const;

const VECTOR = {
  "i32x4.splat": 0x11,
  "f32x4.splat": 0x13,
  "i32x4.eq": 0x37,
  "i32x4.ne": 0x38,
  "i32x4.lt_s": 0x39,
  "i32x4.lt_u": 0x3a,
  "i32x4.le_s": 0x3d,
  "i32x4.le_u": 0x3e,
  "f32x4.eq": 0x41,
  "f32x4.ne": 0x42,
  "f32x4.lt": 0x43,
  "f32x4.gt": 0x44,
  "f32x4.le": 0x45,
  "v128.not": 0x4d,
  "v128.and": 0x4e,
  "v128.andnot": 0x4f,
  "v128.or": 0x50,
  "v128.xor": 0x51,
  "v128.bitselect": 0x52,
  "v128.any_true": 0x53,
  "f32x4.ceil": 0x67,
  "f32x4.floor": 0x68,
  "f32x4.trunc": 0x69,
  "f32x4.nearest": 0x6a,
  "i32x4.neg": 0xa1,
  "i32x4.shl": 0xab,
  "i32x4.shr_s": 0xac,
  "i32x4.shr_u": 0xad,
  "i32x4.add": 0xae,
  "i32x4.sub": 0xb1,
  "i32x4.mul": 0xb5,
  "i32x4.min_s": 0xb6,
  "i32x4.min_u": 0xb7,
  "i32x4.max_s": 0xb8,
  "i32x4.max_u": 0xb9,
  "f32x4.abs": 0xe0,
  "f32x4.neg": 0xe1,
  "f32x4.sqrt": 0xe3,
  "f32x4.add": 0xe4,
  "f32x4.sub": 0xe5,
  "f32x4.mul": 0xe6,
  "f32x4.div": 0xe7,
  "f32x4.min": 0xe8,
  "f32x4.max": 0xe9,
  "f32x4.pmin": 0xea,
  "f32x4.pmax": 0xeb,
  "i32x4.trunc_sat_f32x4_s": 0xf8,
  "i32x4.trunc_sat_f32x4_u": 0xf9,
  "f32x4.convert_i32x4_s": 0xfa,
  "f32x4.convert_i32x4_u": 0xfb,
} as const;

export type Instruction = keyof typeof PLAIN | keyof typeof SATURATING | keyof typeof VECTOR;

const ENCODED: Readonly<Record<string, Bytes>> = {
  ...mapValues(PLAIN, (code) => [code]),
  ...mapValues(SATURATING, (code) => [0xfc, code]),
  ...mapValues(VECTOR, (code) => [0xfd, ...unsigned(code)]),
};

function mapValues(table: Readonly<Record<string, number>>, encoded: (code: number) => Bytes): Record<string, Bytes> {
  return Object.fromEntries(Object.entries(table).map(([name, code]) => [name, encoded(code)]));
}

export const encode = (name: Instruction): Bytes => ENCODED[name]!;
