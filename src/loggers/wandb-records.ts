// The records of a `.wandb` file, by the numbers of wandb_internal.proto: a sequence of them is a whole run.
import { concat, message, putVarint, string, uint, varintSize } from "../core/protobuf.ts";
import type { EndLine } from "./lib/record-lines.ts";
import type { WandbHead } from "./wandb-courier.ts";
import { exitCodeOf, type Entries, type WandbRow } from "./wandb-lines.ts";

/** Which field of `Record` holds what. */
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

/** Since when files are read as these are written. */
const OLDEST_READER = "0.13.0";

const encoder = new TextEncoder();
/** Names come again at every step: their bytes, up to the length of the value. */
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

/** All items in one piece: they are most of what is written, and each by itself would cost more than training. */
function items(field: number, entries: Entries): Uint8Array {
  const longest = entries.reduce((sum, [name, json]) => sum + keyBytes(name).length + 3 * json.length + 24, 0);
  const bytes = new Uint8Array(longest);
  let end = 0;
  for (const [name, json] of entries) {
    const key = keyBytes(name);
    // Behind where it will stand, since its length stands before it.
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

/** Zero is what an absent number means. */
const number = (field: number, value: number): Uint8Array[] => (value === 0 ? [] : [uint(field, value)]);

function timestamp(field: number, ms: number): Uint8Array {
  const seconds = Math.floor(ms / 1000);
  return message(field, ...number(1, seconds), ...number(2, Math.round((ms - seconds * 1000) * 1e6)));
}

/** Numbers its records, which are each the bytes of one `Record`. */
export class WandbRecords {
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

  /** Media that lies beside, for `wandb sync` to send as well. */
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
