// Safetensors: the format of Hugging Face, written like the reference implementation and read more strictly.
import { badFile } from "./bad-file.ts";
import { joinBytes, plainBytes } from "./bytes.ts";
import { headerLength, METADATA, parseHeader } from "./safetensors-header.ts";
import { checkWritable, DTYPES, isTrap, type FileTensor, type FileTensors } from "./tensor.ts";

export interface Safetensors {
  /** By name, in the order of the data; each shares the file's bytes. */
  readonly tensors: FileTensors;
  readonly metadata: Record<string, string>;
}

/** As the reference implementation: wide types first, so that all are aligned, and by name within a type. */
const inFileOrder = ([a, { dtype: x }]: [string, FileTensor], [b, { dtype: y }]: [string, FileTensor]): number =>
  DTYPES.indexOf(y) - DTYPES.indexOf(x) || (a < b ? -1 : 1);

/**
 * A safetensors file in parts to be written one after the other: the header, then each tensor's own bytes, not copied.
 * The same tensors and metadata give the same bytes, in whatever order they are given.
 */
export function safetensorsParts(
  tensors: Readonly<FileTensors>,
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array[] {
  const bad = badFile("a safetensors file to be written");
  const header: [string, object][] = [];
  const notes = Object.entries(metadata).toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [key, value] of notes) {
    if (isTrap(key) || typeof value !== "string")
      throw bad(`the metadata ${JSON.stringify(key)} is not a string`, "Metadata is text: use JSON.stringify(value).");
  }
  if (notes.length > 0) header.push([METADATA, Object.fromEntries(notes)]);
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const [name, tensor] of Object.entries(tensors).toSorted(inFileOrder)) {
    checkWritable(name, tensor, bad);
    if (name === METADATA)
      throw bad(`a tensor is named ${METADATA}`, "The format keeps this name for itself: choose another.");
    const { dtype, shape, bytes } = tensor;
    header.push([name, { dtype, shape, data_offsets: [at, at + bytes.length] }]);
    parts.push(bytes);
    at += bytes.length;
  }
  // Not through one object: its integer-like names would come first.
  const json = `{${header.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",")}}`;
  const text = new TextEncoder().encode(json);
  const start = new Uint8Array(8 + Math.ceil(text.length / 8) * 8).fill(0x20);
  new DataView(start.buffer).setBigUint64(0, BigInt(start.length - 8), true);
  start.set(text, 8);
  return [start, ...parts];
}

/** The bytes of a safetensors file. */
export const encodeSafetensors = (
  tensors: Readonly<FileTensors>,
  metadata?: Readonly<Record<string, string>>,
): Uint8Array => joinBytes(safetensorsParts(tensors, metadata));

/** Reads a whole safetensors file without copying it; `what` names it in errors. Anything unsound is a CheckpointError. */
export function decodeSafetensors(file: Uint8Array, what: string): Safetensors {
  const bad = badFile(what);
  const bytes = plainBytes(file);
  const length = headerLength(bytes, bytes.length, bad);
  const data = bytes.subarray(8 + length);
  const header = parseHeader(bytes.subarray(8, 8 + length), data.length, bad);
  const tensors = Object.create(null) as FileTensors;
  for (const [name, { dtype, shape, begin, end }] of header.tensors)
    tensors[name] = { dtype, shape, bytes: data.subarray(begin, end) };
  return { tensors, metadata: header.metadata };
}
