// W&B without a network: a run as a `.wandb` file, which `wandb sync <folder>` sends later.
import { OptionError } from "../../core/errors.ts";
import { type Builtin, builtin } from "../../platform/builtin.ts";
import type { RunEnd, RunFacts } from "../../runs/types.ts";
import { concat, message, putVarint, string, uint, varintSize } from "../../core/protobuf.ts";
import { type EndLine, RecordLines, endLine, parseLine } from "../remote/record-lines.ts";
import type { MakeBackend } from "../threaded-backend.ts";
import type { WandbHead } from "./sender.ts";
import { WandbFrames } from "./frames.ts";
import { type Entries, type ImageFile, type WandbRow, exitCodeOf, imagesOf, rowOf } from "./rows.ts";

type Fs = Builtin<"node:fs">;

/** Records are written when there are this many, or at a flush. */
const MOST_RECORDS = 256;

export interface OfflineSettings {
  readonly head: WandbHead;
}

export const wandbOffline: MakeBackend<OfflineSettings> = ({ head }) => {
  const lines = new RecordLines({ media: true });
  let file: OfflineFile | undefined;
  return {
    name: "wandb",
    open(run) {
      file = new OfflineFile(head, run);
    },
    log(record) {
      lines.add(record);
      if (lines.length >= MOST_RECORDS) file?.write(lines.take(false));
    },
    flush: () => file?.write(lines.take(true)),
    close(end) {
      file?.write(lines.take(true));
      file?.finish(end);
    },
  };
};

class OfflineFile {
  readonly #fs: Fs;
  readonly #folder: string;
  readonly #fd: number;
  readonly #frames = new WandbFrames();
  readonly #records = new WandbRecords();
  readonly #summary = new Map<string, string>();

  constructor(head: WandbHead, { dir, startedAt }: RunFacts) {
    if (dir === undefined) {
      throw new OptionError("wandb: offline files need a directory: give the trainer a `runDir`.");
    }
    this.#fs = builtin("wandb", "node:fs");
    const time = new Date(startedAt).toISOString().replace(/[-:]/g, "").replace("T", "_").slice(0, 15);
    this.#folder = this.#newFolder(`${dir}/wandb/offline-run-${time}-${head.id}`);
    this.#fd = this.#fs.openSync(`${this.#folder}/run-${head.id}.wandb`, "wx");
    this.#frames.add(this.#records.header());
    this.#frames.add(this.#records.run(head, startedAt));
    this.#flush();
  }

  write(lines: readonly string[]): void {
    for (const text of lines) {
      const line = parseLine(text);
      if (line?.kind !== "log") continue;
      const images = imagesOf(line);
      if (images.size > 0) this.#writeImages([...images.values()]);
      const row = rowOf(line, { image: (name) => images.get(name)?.json });
      for (const [name, json] of row.history) this.#summary.set(name, json);
      if (row.history.length > 0) this.#frames.add(this.#records.history(row, line.step));
      if (row.system.length > 0) this.#frames.add(this.#records.stats(row));
    }
    if (lines.length > 0) this.#flush();
  }

  #writeImages(images: readonly ImageFile[]): void {
    this.#fs.mkdirSync(`${this.#folder}/files/media/images`, { recursive: true });
    for (const { path, bytes } of images) this.#fs.writeFileSync(`${this.#folder}/files/${path}`, bytes);
    this.#frames.add(this.#records.files(images.map(({ path }) => path)));
  }

  finish(end: RunEnd): void {
    const runtime: Entries = [["_wandb", JSON.stringify({ runtime: Math.round(end.elapsed) })]];
    this.#frames.add(this.#records.summary([...this.#summary, ...runtime]));
    const line = parseLine(endLine(end));
    if (line?.kind === "end") this.#frames.add(this.#records.exit(line));
    this.#flush();
    this.#fs.fsyncSync(this.#fd);
    this.#fs.closeSync(this.#fd);
  }

  /** A run that is resumed within a second needs another name. */
  #newFolder(path: string): string {
    for (let n = 1; ; n++) {
      const folder = n === 1 ? path : path.replace(/offline-run-(\d+_\d+)/, `offline-run-$1_${n}`);
      if (this.#fs.existsSync(folder)) continue;
      this.#fs.mkdirSync(`${folder}/files`, { recursive: true });
      return folder;
    }
  }

  #flush(): void {
    const bytes = concat(this.#frames.take());
    for (let at = 0; at < bytes.byteLength;) at += this.#fs.writeSync(this.#fd, bytes, at);
  }
}

/** Fields of `Record` in wandb_internal.proto. */
const NUM = 1;
const HISTORY = 2;
const SUMMARY = 3;
const FILES = 6;
const STATS = 7;
const RUN = 17;
const EXIT = 18;
const HEADER = 21;
/** The kind of a file, in its record. */
const MEDIA_FILE = 2;
/** In every item: its name, and its value as JSON. */
const KEY = 1;
const VALUE_JSON = 16;

/** The oldest version of wandb that reads these files. */
const OLDEST_READER = "0.13.0";

const encoder = new TextEncoder();
/** Cached, because names repeat at every step: the bytes up to the length of the value. */
const keys = new Map<string, Uint8Array>();
const VALUE_TAG = VALUE_JSON * 8 + 2;

function keyBytes(name: string): Uint8Array {
  let bytes = keys.get(name);
  if (bytes === undefined) {
    const tag = new Uint8Array(varintSize(VALUE_TAG));
    putVarint(tag, 0, VALUE_TAG);
    keys.set(name, (bytes = concat([string(KEY, name), tag])));
  }
  return bytes;
}

/** All items in one buffer: one buffer each would cost more than the training step. */
function items(field: number, entries: Entries): Uint8Array {
  const longest = entries.reduce((sum, [name, json]) => sum + keyBytes(name).length + 3 * json.length + 24, 0);
  const bytes = new Uint8Array(longest);
  let end = 0;
  for (const [name, json] of entries) {
    const key = keyBytes(name);
    // Encoded behind its final position, because its length comes first.
    const value = end + key.length + 24;
    const { written } = encoder.encodeInto(json, bytes.subarray(value));
    end = putVarint(bytes, end, field * 8 + 2);
    end = putVarint(bytes, end, key.length + varintSize(written) + written);
    bytes.set(key, end);
    end = putVarint(bytes, end + key.length, written);
    bytes.copyWithin(end, value, value + written);
    end += written;
  }
  return bytes.subarray(0, end);
}

/** Protocol buffers leave out a number that is zero. */
const number = (field: number, value: number): Uint8Array[] => (value === 0 ? [] : [uint(field, value)]);

function timestamp(field: number, ms: number): Uint8Array {
  const seconds = Math.floor(ms / 1000);
  return message(field, ...number(1, seconds), ...number(2, Math.round((ms - seconds * 1000) * 1e6)));
}

/** Encodes the `Record`s of a `.wandb` file, which are numbered. */
class WandbRecords {
  #count = 0;

  header(): Uint8Array {
    return this.#record(HEADER, message(1, string(1, "hookline"), string(2, OLDEST_READER)));
  }

  run({ id, entity, project, name, tags, config }: WandbHead, startedAt: number): Uint8Array {
    const values = Object.entries(config).map(([key, value]) => [key, JSON.stringify(value)] as const);
    return this.#record(
      RUN,
      string(1, id),
      ...(entity === "" ? [] : [string(2, entity)]),
      string(3, project),
      message(4, items(1, values)),
      string(8, name),
      ...tags.map((tag) => string(10, tag)),
      timestamp(17, startedAt),
    );
  }

  history({ history }: WandbRow, step: number): Uint8Array {
    return this.#record(HISTORY, items(1, history), message(2, ...number(1, step)));
  }

  stats({ system, timestamp: seconds }: WandbRow): Uint8Array {
    return this.#record(STATS, timestamp(2, seconds * 1000), items(3, system));
  }

  summary(entries: Entries): Uint8Array {
    return this.#record(SUMMARY, items(1, entries));
  }

  /** Media files beside the log, for `wandb sync` to upload. */
  files(paths: readonly string[]): Uint8Array {
    return this.#record(FILES, ...paths.map((path) => message(1, string(1, path), uint(3, MEDIA_FILE))));
  }

  exit({ status, elapsed }: EndLine): Uint8Array {
    return this.#record(EXIT, ...number(1, exitCodeOf(status)), ...number(2, Math.round(elapsed)));
  }

  #record(field: number, ...fields: readonly Uint8Array[]): Uint8Array {
    return concat([uint(NUM, ++this.#count), message(field, ...fields)]);
  }
}
