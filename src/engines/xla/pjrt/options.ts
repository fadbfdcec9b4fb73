// What PJRT takes as serialized messages and lists: compile options, and the options of a client.
import type { Koffi } from "../../../platform/koffi.ts";
import { Bytes } from "./struct.ts";

/** Flags of XLA for one compilation, by name. */
export type XlaFlags = Readonly<Record<string, boolean | string>>;

/** A CompileOptionsProto. With several devices, XLA divides the program between them as its annotations say (Shardy). */
export function compileOptions(flags: XlaFlags = {}, devices = 1): Uint8Array {
  const build = [...integer(1, -1n), ...integer(4, 1n), ...integer(5, BigInt(devices))];
  if (devices > 1) build.push(...integer(6, 1n), ...integer(19, 1n));
  const overrides = Object.entries(flags).flatMap(([name, value]) => {
    const option = typeof value === "boolean" ? integer(2, value ? 1n : 0n) : message(1, utf8(value));
    return message(7, [...message(1, utf8(name)), ...message(2, option)]);
  });
  return Uint8Array.from([...message(3, build), ...overrides]);
}

const utf8 = (text: string): number[] => [...new TextEncoder().encode(text)];

function varint(value: bigint): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  do {
    const low = Number(rest & 127n);
    rest >>= 7n;
    bytes.push(rest === 0n ? low : low | 128);
  } while (rest !== 0n);
  return bytes;
}

const integer = (field: number, value: bigint): number[] => [...varint(BigInt(field << 3)), ...varint(value)];

const message = (field: number, bytes: readonly number[]): number[] => [
  ...varint(BigInt((field << 3) | 2)),
  ...varint(BigInt(bytes.length)),
  ...bytes,
];

export type ClientOptions = Readonly<Record<string, boolean | string>>;

/** An entry of a list of PJRT_NamedValue; the list has no room between them, so the size is the true one. */
const NAMED_VALUE_WORDS = 7;
const [STRING, BOOL] = [0n, 4n];

/** The list in memory; `keep` is what it points to. */
export function namedValues(koffi: Koffi, options: ClientOptions): { address: bigint; count: number; keep: unknown } {
  const entries = Object.entries(options);
  const words = new BigUint64Array(Math.max(entries.length, 1) * NAMED_VALUE_WORDS);
  const keep: unknown[] = [words];
  for (const [i, [key, value]] of entries.entries()) {
    const name = new Bytes(koffi, key);
    keep.push(name);
    const entry = words.subarray(i * NAMED_VALUE_WORDS);
    entry.set([BigInt(NAMED_VALUE_WORDS * 8), 0n, name.address, BigInt(name.length)]);
    if (typeof value === "string") {
      const text = new Bytes(koffi, value);
      keep.push(text);
      entry.set([STRING, text.address, BigInt(text.length)], 4);
    } else entry.set([BOOL, value ? 1n : 0n, 1n], 4);
  }
  return { address: koffi.address(words), count: entries.length, keep };
}
