// Shared memory as a plain buffer. The matrix library's binding takes no other; koffi can show any memory as one.
import { builtin } from "../../../platform/builtin.ts";

/** A buffer that is not shared, over the same bytes. */
export type PlainAlias = (bytes: Uint8Array) => ArrayBuffer;

interface Koffi {
  view(pointer: Uint8Array, length: number): ArrayBuffer;
}

/** Undefined where koffi is not installed, or cannot do it. */
export function loadAlias(): PlainAlias | undefined {
  const { createRequire } = builtin<{ createRequire(from: string): (name: string) => unknown }>(
    `Engine "native"`,
    "node:module",
  );
  try {
    const require = createRequire(import.meta.url);
    const koffi = require("koffi") as Koffi;
    const alias: PlainAlias = (bytes) => koffi.view(bytes, bytes.byteLength);
    return isAlias(alias) ? alias : undefined;
  } catch {
    return undefined;
  }
}

/** Does what is written to the one show in the other? */
function isAlias(alias: PlainAlias): boolean {
  const shared = new Uint8Array(new SharedArrayBuffer(64));
  const plain = new Uint8Array(alias(shared));
  shared[5] = 17;
  return plain.length === shared.length && plain[5] === 17;
}

/** The memory as a plain buffer, whatever it is. Shared memory never moves, but it grows: then it is another buffer. */
export function plainBuffer(memory: WebAssembly.Memory, alias: PlainAlias | undefined): () => ArrayBuffer {
  if (!alias) return () => memory.buffer;
  let shared = memory.buffer;
  let plain = alias(new Uint8Array(shared));
  return () => {
    if (memory.buffer !== shared) {
      shared = memory.buffer;
      plain = alias(new Uint8Array(shared));
    }
    return plain;
  };
}
