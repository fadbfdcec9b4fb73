// Models split over several files, with an index that says which tensor is in which file.
import type { Json } from "../../core/options.ts";
import { JsonReader } from "./json-reader.ts";
import { SafetensorsFile } from "./safetensors.ts";
import { type BadFile, badFile, type ByteSource, type FileTensor, quote, suggestName } from "./tensor.ts";

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
    // The next read retries.
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
