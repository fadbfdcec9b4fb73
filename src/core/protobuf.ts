// Writes protocol buffers: fields as bytes, joined into messages. There is no reader and no schema.

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;

const encoder = new TextEncoder();

/** The number of bytes that `putVarint` writes. */
export function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++;
  return size;
}

/** Writes a whole number from 0 to 2^53 at `at`; returns where it ends. */
export function putVarint(bytes: Uint8Array, at: number, value: number): number {
  let end = at;
  let rest = value;
  // Bit operations have 32 bits: higher bits are shifted by division.
  for (; rest > 0x7fffffff; rest = Math.floor(rest / 0x80)) bytes[end++] = (rest % 0x80) | 0x80;
  for (; rest >= 0x80; rest >>>= 7) bytes[end++] = (rest & 0x7f) | 0x80;
  bytes[end++] = rest;
  return end;
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** A whole number ≥ 0: int32, int64, uint64, enum and, as 0 or 1, bool. */
export function uint(field: number, value: number): Uint8Array {
  const bytes = new Uint8Array(varintSize(field * 8) + varintSize(value));
  putVarint(bytes, putVarint(bytes, 0, field * 8 + VARINT), value);
  return bytes;
}

export function double(field: number, value: number): Uint8Array {
  const start = varintSize(field * 8);
  const bytes = new Uint8Array(start + 8);
  putVarint(bytes, 0, field * 8 + FIXED64);
  new DataView(bytes.buffer).setFloat64(start, value, true);
  return bytes;
}

/** What stands before the bytes of a field, for those who write the bytes themselves. */
export function blobHead(field: number, length: number): Uint8Array {
  const head = new Uint8Array(varintSize(field * 8) + varintSize(length));
  putVarint(head, putVarint(head, 0, field * 8 + BYTES), length);
  return head;
}

export const blob = (field: number, content: Uint8Array): Uint8Array =>
  concat([blobHead(field, content.length), content]);

export const string = (field: number, text: string): Uint8Array => blob(field, encoder.encode(text));

/** A message inside another, of these fields. */
export const message = (field: number, ...fields: readonly Uint8Array[]): Uint8Array => blob(field, concat(fields));
