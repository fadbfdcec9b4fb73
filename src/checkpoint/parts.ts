// Files that are given in parts: what is saved lies where it lies, and nobody joins it only to write it.

/** One file: its bytes, or parts that are written one after the other. */
export type FileBytes = Uint8Array | readonly Uint8Array[];

export const partsOf = (file: FileBytes): readonly Uint8Array[] => (file instanceof Uint8Array ? [file] : file);

export const lengthOf = (parts: readonly Uint8Array[]): number =>
  parts.reduce((length, part) => length + part.byteLength, 0);

/** A copy in one piece, which no other thread sees. */
export function joined(file: FileBytes): Uint8Array<ArrayBuffer> {
  const parts = partsOf(file);
  const whole = new Uint8Array(lengthOf(parts));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}

const isOwn = (bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> => bytes.buffer instanceof ArrayBuffer;

/** The file in one piece that no other thread sees, copied only where it has to be. */
export function inOnePiece(file: FileBytes): Uint8Array<ArrayBuffer> {
  const [first, ...more] = partsOf(file);
  return first && more.length === 0 && isOwn(first) ? first : joined(file);
}
