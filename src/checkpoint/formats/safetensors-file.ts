// Safetensors files of which single tensors are read without the rest, models split over several such files, and the
// description of the format.
import { type BadFile, badFile, type ByteSource, countNumbers, type FileTensor, quote, suggestName } from "./tensor.ts";
import type { WeightsFormat } from "./weights-formats.ts";
import {
  decodeSafetensors,
  type Header,
  headerLength,
  parseHeader,
  safetensorsParts,
  type TensorInfo,
} from "./safetensors.ts";
import { JsonReader } from "./json-reader.ts";
import type { Json } from "../../core/options.ts";

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

const MAX_INDEX = 100_000_000;

interface ShardIndex {
  /** The name of the file that has the tensor, for each tensor. */
  readonly weightMap: ReadonlyMap<string, string>;
  /** What the index says besides, `total_size` for example. */
  readonly metadata: Json;
}

/** Reads a `model.safetensors.index.json`; `what` names it in errors. */
export function parseShardIndex(bytes: Uint8Array, what: string): ShardIndex {
  const bad = badFile(what);
  if (bytes.length > MAX_INDEX) throw bad(`it has ${bytes.length} bytes, more than ${MAX_INDEX}`);
  const json = new JsonReader(bytes, "the index", bad);
  const weightMap = new Map<string, string>();
  let metadata: Json = null;
  json.object((key) => {
    if (key === "weight_map") json.object((name) => void weightMap.set(name, fileName(json.string(), bad)));
    else if (key === "metadata") metadata = json.value();
    else throw bad(`the index has the unknown field ${quote(key)}`);
  });
  json.end();
  if (weightMap.size === 0) throw bad("the index names no tensors in weight_map");
  return { weightMap, metadata };
}

/** A shard is in its index's directory: with a path, the index could choose what is opened. */
function fileName(name: string, bad: BadFile): string {
  if (/^\w[\w.=-]{0,199}$/.test(name)) return name;
  throw bad(`the index names the file ${quote(name)}, which is not a plain file name`);
}

/**
 * The tensors of all shards as if they were in one file. Shards are opened when first needed.
 * @example const model = new ShardedSafetensors(index, "model.safetensors.index.json", (name) => open(join(folder, name)));
 */
export class ShardedSafetensors {
  readonly index: ShardIndex;
  readonly #open: (fileName: string) => Promise<ByteSource>;
  readonly #files = new Map<string, Promise<SafetensorsFile>>();
  readonly #bad: BadFile;

  constructor(index: Uint8Array, what: string, open: (fileName: string) => Promise<ByteSource>) {
    this.index = parseShardIndex(index, what);
    this.#open = open;
    this.#bad = badFile(what);
  }

  get names(): string[] {
    return [...this.index.weightMap.keys()];
  }

  async read(name: string): Promise<FileTensor> {
    const fileName = this.index.weightMap.get(name);
    if (fileName === undefined)
      throw this.#bad(
        `it has no tensor ${quote(name)}`,
        `It names ${this.index.weightMap.size}.${suggestName(name, this.names)}`,
      );
    return (await this.#file(fileName)).read(name);
  }

  #file(fileName: string): Promise<SafetensorsFile> {
    const known = this.#files.get(fileName);
    if (known) return known;
    const opened = this.#openShard(fileName);
    this.#files.set(fileName, opened);
    // The next read tries again.
    opened.catch(() => this.#files.delete(fileName));
    return opened;
  }

  async #openShard(shard: string): Promise<SafetensorsFile> {
    const file = await SafetensorsFile.open(await this.#open(shard), shard);
    checkShard(this.index, shard, file.names, this.#bad);
    return file;
  }
}

/** A shard must have exactly what the index says: files of different models are easily mixed up. */
export function checkShard({ weightMap }: ShardIndex, shard: string, found: readonly string[], bad: BadFile): void {
  const names = new Set(found);
  for (const [name, where] of weightMap)
    if (where === shard && !names.delete(name))
      throw bad(`${shard} lacks tensor ${quote(name)}, which the index says it has`);
  for (const name of names) throw bad(`${shard} has tensor ${quote(name)}, which the index does not name there`);
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
