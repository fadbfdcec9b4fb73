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

/** The same with a sign, for 32-bit constants. */
export function signed(value: number): Bytes {
  const out: Bytes = [];
  let rest = value | 0;
  for (;;) {
    const low = rest & 0x7f;
    rest >>= 7;
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

const VALUE_TYPES = { i32: 0x7f, f32: 0x7d, v128: 0x7b } as const;
export type ValueType = keyof typeof VALUE_TYPES;

export interface WasmFunction {
  readonly name: string;
  /** How many addresses it takes, all i32. It returns nothing. */
  readonly params: number;
  readonly locals: readonly ValueType[];
  readonly body: Bytes;
}

/** Of a memory that threads share the format wants to know how large it may become. */
const MOST_PAGES = 65_536;

/** "\0asm", version 1. */
const MAGIC = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0] as const;

/** The memory is imported as `env.memory`; the functions are exported by their names. */
export function assemble(functions: readonly WasmFunction[], shared: boolean): Uint8Array<ArrayBuffer> {
  const arities = [...new Set(functions.map(({ params }) => params))];
  const types = arities.map((n) => [0x60, ...list(Array.from({ length: n }, () => [VALUE_TYPES.i32])), 0]);
  const limits = shared ? [0x03, 0, ...unsigned(MOST_PAGES)] : [0x00, 0];
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
    section(3, list(functions.map(({ params }) => unsigned(arities.indexOf(params))))),
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
