// Safetensors, the format of Hugging Face: written as the reference implementation does, and read more strictly. A header
// is accepted only if every byte of the data belongs to exactly one tensor. `safetensors` describes the format.
import {
  type BadFile,
  DTYPES,
  type FileDType,
  type FileTensor,
  type FileTensors,
  MAX_DIMENSIONS,
  badFile,
  checkWritable,
  isFileDType,
  isForbiddenName,
  joinBytes,
  plainBytes,
  quote,
  sizeInBytes,
  type ByteSource,
  countNumbers,
  suggestName,
} from "./tensor.ts";
import type { WeightsFormat } from "./weights-formats.ts";
import { JsonReader } from "./json-reader.ts";

/** What the header says of one tensor; `begin` and `end` count from the first byte after the header. */
export interface TensorInfo {
  readonly dtype: FileDType;
  readonly shape: readonly number[];
  readonly begin: number;
  readonly end: number;
}

interface Header {
  /** In the order of the data. */
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  readonly metadata: Record<string, string>;
}

/** The reference implementation's limit. */
const MAX_HEADER = 100_000_000;
/** More than any model has in one file. Without a limit, a header of empty tensors would take minutes. */
const MAX_ENTRIES = 200_000;
const METADATA = "__metadata__";

export interface Safetensors {
  /** By name, in the order of the data; each shares the file's bytes. */
  readonly tensors: FileTensors;
  readonly metadata: Record<string, string>;
}

/** The reference implementation's order: wide types first, so that all are aligned, then by name. */
const inFileOrder = ([a, { dtype: x }]: [string, FileTensor], [b, { dtype: y }]: [string, FileTensor]): number =>
  DTYPES.indexOf(y) - DTYPES.indexOf(x) || (a < b ? -1 : 1);

/**
 * A safetensors file as chunks to be written in order: the header, then each tensor's own bytes, not copied. The same
 * tensors and metadata give the same file, in whatever order they are given.
 */
export function safetensorsParts(
  tensors: Readonly<FileTensors>,
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array[] {
  const bad = badFile("a safetensors file to be written");
  const header: [string, object][] = [];
  const notes = Object.entries(metadata).toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [key, value] of notes) {
    if (isForbiddenName(key) || typeof value !== "string")
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
  // Not from one object: its integer-like names would come first.
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

/** Reads a whole safetensors file without copying it; `what` names it in errors. */
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

/** The length of the header, from the first eight bytes and the size of the file. */
function headerLength(start: Uint8Array, fileSize: number, bad: BadFile): number {
  if (start.length < 8) throw bad(`it has ${fileSize} bytes, too few for a safetensors file`);
  const view = new DataView(start.buffer, start.byteOffset, 8);
  const length = view.getUint32(0, true) + view.getUint32(4, true) * 2 ** 32;
  if (length > MAX_HEADER) throw bad(`it says that its header has ${length} bytes, more than ${MAX_HEADER}`);
  if (8 + length > fileSize) throw bad(`it ends inside its header: ${fileSize} bytes of ${8 + length}`);
  return length;
}

/** Parses the header; `dataSize` is how many bytes the file has after it. */
function parseHeader(bytes: Uint8Array, dataSize: number, bad: BadFile): Header {
  if (bytes[0] !== 0x7b) throw bad("its header does not begin with {, so it is no safetensors file");
  const json = new JsonReader(bytes, "its header", bad);
  const metadata = Object.create(null) as Record<string, string>;
  const found: [name: string, info: TensorInfo][] = [];
  let total = 0;
  json.object((name) => {
    if (name === METADATA) {
      let notes = 0;
      json.object((key) => {
        if (++notes > MAX_ENTRIES) throw bad(`its metadata has more than ${MAX_ENTRIES} entries`);
        metadata[key] = json.string();
      });
      return;
    }
    const info = readInfo(json, name, bad);
    if (found.length === MAX_ENTRIES) throw bad(`it has more than ${MAX_ENTRIES} tensors`);
    found.push([name, info]);
    // Overlapping tensors add up to more than the data: refused at once, however many more follow.
    total += info.end - info.begin;
    if (total > dataSize) throw bad(`its tensors overlap or extend after its end, from tensor ${quote(name)} on`);
  });
  json.end();
  return { tensors: inOrder(found, dataSize, bad), metadata };
}

function readInfo(json: JsonReader, name: string, bad: BadFile): TensorInfo {
  const wrong = (reason: string) => bad(`tensor ${quote(name)} ${reason}`);
  let dtype = "";
  let shape: number[] | undefined;
  let offsets: number[] = [];
  json.object((key) => {
    if (key === "dtype") dtype = json.string();
    else if (key === "shape") shape = readWholes(json, MAX_DIMENSIONS, "dimensions", wrong);
    else if (key === "data_offsets") offsets = readWholes(json, 2, "offsets", wrong);
    else throw wrong(`has the unknown field ${quote(key)}`);
  });
  if (!isFileDType(dtype)) throw wrong(`has the unknown type ${quote(dtype)}`);
  if (shape === undefined) throw wrong("has no shape");
  const [begin, end] = offsets;
  if (begin === undefined || end === undefined) throw wrong("has no pair of offsets");
  const size = sizeInBytes(dtype, shape);
  if (typeof size === "string") throw wrong(`has ${size}`);
  if (end - begin !== size)
    throw wrong(`is ${dtype} [${shape.join(", ")}], ${size} bytes, but its offsets span ${end - begin}`);
  return { dtype, shape, begin, end };
}

function readWholes(json: JsonReader, most: number, what: string, wrong: BadFile): number[] {
  const values: number[] = [];
  json.list(() => {
    if (values.length === most) throw wrong(`has more ${what} than ${most}`);
    values.push(json.whole());
  });
  return values;
}

/** Each tensor must begin where the one before it ends, and the last must end with the file. */
function inOrder(
  found: readonly (readonly [string, TensorInfo])[],
  dataSize: number,
  bad: BadFile,
): ReadonlyMap<string, TensorInfo> {
  const sorted = found.toSorted(([, a], [, b]) => a.begin - b.begin || a.end - b.end);
  let at = 0;
  for (const [name, { begin, end }] of sorted) {
    if (begin !== at)
      throw bad(
        `tensor ${quote(name)} begins at ${begin}, ${begin < at ? "inside another" : "after a hole"}, not at ${at}`,
      );
    at = end;
  }
  if (at !== dataSize) throw bad(`its tensors end at ${at}, but it has ${dataSize} bytes of data`);
  return new Map(sorted);
}

/**
 * A safetensors file opened for reading one tensor at a time: only the header is in memory.
 * @example const weight = await (await SafetensorsFile.open(source, "model.safetensors")).read("0.weight");
 */
export class SafetensorsFile {
  readonly metadata: Readonly<Record<string, string>>;
  readonly #source: ByteSource;
  readonly #header: Header;
  readonly #dataStart: number;
  readonly #bad: BadFile;

  private constructor(source: ByteSource, header: Header, dataStart: number, bad: BadFile) {
    this.metadata = header.metadata;
    this.#source = source;
    this.#header = header;
    this.#dataStart = dataStart;
    this.#bad = bad;
  }

  /** Reads and checks the header; `what` names the file in errors. */
  static async open(source: ByteSource, what: string): Promise<SafetensorsFile> {
    const bad = badFile(what);
    const start = await readFully(source, 0, Math.min(8, source.size), bad);
    const length = headerLength(start, source.size, bad);
    const header = await readFully(source, 8, length, bad);
    const parsed = parseHeader(header, source.size - 8 - length, bad);
    return new SafetensorsFile(source, parsed, 8 + length, bad);
  }

  /** In the order of the data. */
  get names(): string[] {
    return [...this.#header.tensors.keys()];
  }

  /** Type, shape and place of a tensor, without reading it. */
  info(name: string): TensorInfo {
    const info = this.#header.tensors.get(name);
    if (info === undefined) {
      throw this.#bad(
        `it has no tensor ${quote(name)}`,
        `It has ${this.#header.tensors.size} tensors.${suggestName(name, this.#header.tensors.keys())}`,
      );
    }
    return info;
  }

  async read(name: string): Promise<FileTensor> {
    const { dtype, shape, begin, end } = this.info(name);
    const bytes = await readFully(this.#source, this.#dataStart + begin, end - begin, this.#bad);
    return { dtype, shape, bytes };
  }
}

async function readFully(source: ByteSource, offset: number, length: number, bad: BadFile): Promise<Uint8Array> {
  const bytes = await source.read(offset, length).catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw bad(`it could not be read: ${why}`, "Is the disk or the connection still there?", { cause });
  });
  if (bytes.length !== length)
    throw bad(`it gave ${bytes.length} of ${length} bytes at ${offset}, so it has become shorter since it was opened`);
  return bytes;
}

export const safetensors: WeightsFormat = {
  name: "safetensors",
  endings: [".safetensors"],
  modelFile: "model.safetensors",
  checkpointFile: { name: "model.safetensors" },
  read: decodeSafetensors,
  // Some readers (Hugging Face's transformers) refuse a file without `format`. Names and layouts are PyTorch's.
  encode: (tensors, metadata) => safetensorsParts(tensors, { format: "pt", ...metadata }),
  async inspect(source, path) {
    const file = await SafetensorsFile.open(source, path);
    const tensors = file.names.map((name) => {
      const { dtype, shape, begin, end } = file.info(name);
      return { name, dtype, shape, bytes: end - begin };
    });
    return { tensors, parameters: countNumbers(tensors) };
  },
};
