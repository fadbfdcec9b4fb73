// Argument structs of PJRT's C API: 64-bit words in memory that does not move. The first word is the size, the second
// (extensions) stays 0, and the fields follow.
import type { Koffi } from "../../../platform/koffi.ts";

/**
 * Every struct says that it is this large. A plugin rejects one that is smaller than its own, which grows with its
 * version; what lies behind the fields it knows is 0.
 */
const STRUCT_BYTES = 512;
/** Words in front of the fields. */
const HEAD = 2;

export class Struct {
  readonly words = new BigUint64Array(STRUCT_BYTES / 8);
  readonly address: bigint;

  constructor(koffi: Koffi, ...fields: readonly (bigint | number)[]) {
    this.words[0] = BigInt(STRUCT_BYTES);
    for (const [i, field] of fields.entries()) this.words[i + HEAD] = BigInt(field);
    this.address = koffi.address(this.words);
  }

  get(field: number): bigint {
    return this.words[field + HEAD]!;
  }

  set(field: number, value: bigint): void {
    this.words[field + HEAD] = value;
  }
}

/** Bytes at an address that stays the same as long as this object is alive. */
export class Bytes {
  readonly data: Uint8Array;
  readonly address: bigint;

  constructor(koffi: Koffi, data: Uint8Array | string) {
    // A copy: Node's small buffers share a pool, and an empty array has no address.
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    this.data = new Uint8Array(bytes.length + 1);
    this.data.set(bytes);
    this.address = koffi.address(this.data);
  }

  get length(): number {
    return this.data.length - 1;
  }
}

/** Text that belongs to the plugin. */
export function textAt(koffi: Koffi, address: bigint, length: bigint): string {
  if (length === 0n) return "";
  return new TextDecoder().decode(new Uint8Array(koffi.view(address, Number(length))));
}
