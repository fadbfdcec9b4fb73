// A bounded queue on disk, for log records that must survive the process. When full, it drops its oldest file.
//
// `<dir>/00000003-000000001200.jsonl` is the third file, after 1200 records in earlier ones. Its first line says which run
// the other lines belong to, so that each file can be read alone. `position.json` says how far the service has acknowledged
// them. A process never appends to a file of another process, so a line torn by a crash is always the last of its file.
import type { Json } from "../../core/options.ts";
import { lockDirectory, type Lock } from "../../runs/lock.ts";
import { messageOf } from "../../core/maybe.ts";
import { type Builtin, builtin } from "../../platform/builtin.ts";
import type { Chunk, ChunkLimit, Position, Queue } from "./memory-queue.ts";

type Fs = Builtin<"node:fs">;

export interface DiskQueueOptions {
  readonly dir: string;
  /** Bytes; beyond it, the oldest records are dropped. */
  readonly limit: number;
  readonly warn: (message: string) => void;
  /** Bytes after which the next file begins. */
  readonly fileSize?: number;
}

interface Segment {
  readonly index: number;
  /** Records in the files before it. */
  readonly seq: number;
  readonly name: string;
  size: number;
}

interface Stored extends Position {
  readonly version: 1;
  readonly state: Json;
}

const POSITION = "position.json";
const NAME = /^(\d{8})-(\d{12})\.jsonl$/;
const BREAK = 10;
/** Files per queue: small files, so that little is dropped at once, but not too many. */
const FILES = 64;

export class DiskQueue implements Queue {
  readonly dir: string;
  state: Json | undefined;
  dropped = 0;
  readonly #fs: Fs;
  readonly #limit: number;
  readonly #fileSize: number;
  readonly #warn: (message: string) => void;
  readonly #lock: Lock;
  /** The oldest first; the last is written to while `#fd` is open. */
  readonly #segments: Segment[];
  #position: Position;
  #seq: number;
  #head: Json = null;
  #fd: number | undefined;
  /** The acknowledged position before files were dropped that may be under way. */
  #droppedFrom: number | undefined;
  readonly #said = new Set<string>();

  /** Throws a CheckpointError while another process uses the queue. */
  constructor({ dir, limit, warn, fileSize = Math.min(4 << 20, Math.ceil(limit / FILES)) }: DiskQueueOptions) {
    this.dir = dir;
    this.#fs = builtin("The queue of a logger", "node:fs");
    this.#limit = limit;
    this.#fileSize = fileSize;
    this.#warn = warn;
    this.#fs.mkdirSync(dir, { recursive: true });
    this.#lock = lockDirectory(dir);
    this.#segments = this.#list();
    const stored = this.#read();
    this.state = stored?.state;
    this.#position = stored ?? { file: -1, offset: 0, seq: 0 };
    for (const old of this.#segments.filter(({ index }) => index < this.#position.file)) this.#remove(old);
    const last = this.#segments.at(-1);
    this.#seq = last ? Math.max(last.seq + this.#count(last), this.#position.seq) : this.#position.seq;
  }

  get waiting(): number {
    return this.#seq - this.#position.seq;
  }

  begin(head: Json): void {
    this.#head = head;
    this.#seal();
    this.#open();
  }

  append(lines: readonly string[]): void {
    if (lines.length === 0) return;
    if (this.#fd === undefined) this.#open();
    if (this.#write(`${lines.join("\n")}\n`)) this.#seq += lines.length;
    else this.dropped += lines.length;
    if ((this.#segments.at(-1)?.size ?? 0) >= this.#fileSize) this.#seal();
    this.#bound();
  }

  async next(limit: ChunkLimit): Promise<Chunk | undefined> {
    for (let [segment] = this.#segments; segment; [segment] = this.#segments) {
      const { file, offset, seq } = this.#position;
      const from = file === segment.index ? offset : 0;
      const found = await this.#lines(segment, from, limit).catch((error: unknown) => {
        if (this.#segments[0] === segment) throw error;
        return undefined;
      });
      // Dropped while it was read, or just before.
      if (this.#segments[0] !== segment) continue;
      if (found) {
        const start = file === segment.index ? seq : Math.max(seq, segment.seq);
        return {
          head: found.head,
          lines: found.lines,
          end: { file: segment.index, offset: found.end, seq: start + found.lines.length },
        };
      }
      // It is still being written to.
      if (this.#segments.length === 1 && this.#fd !== undefined) return undefined;
      this.#remove(segment);
    }
    return undefined;
  }

  async acknowledge(end: Position, state: Json): Promise<void> {
    this.state = state;
    if (this.#droppedFrom !== undefined && end.seq <= this.#position.seq) {
      // Dropped while it was under way, and it has arrived after all.
      this.dropped -= end.seq - this.#droppedFrom;
    } else this.#position = end;
    this.#droppedFrom = undefined;
    const stored: Stored = { version: 1, ...this.#position, state };
    this.#lock.fence.check();
    await this.#store(JSON.stringify(stored));
  }

  close(): void {
    this.#seal();
    this.#lock.release();
  }

  #list(): Segment[] {
    const found = this.#fs.readdirSync(this.dir).flatMap((name) => {
      const [, index, seq] = NAME.exec(name) ?? [];
      if (index === undefined) return [];
      return [{ index: Number(index), seq: Number(seq), name, size: this.#fs.statSync(`${this.dir}/${name}`).size }];
    });
    return found.toSorted((a, b) => a.index - b.index);
  }

  #read(): Stored | undefined {
    let text: string;
    try {
      text = this.#fs.readFileSync(`${this.dir}/${POSITION}`, "utf8");
    } catch {
      return undefined;
    }
    const stored = parsed(text) as Partial<Stored> | undefined;
    if (stored?.version === 1 && [stored.file, stored.offset, stored.seq].every(Number.isSafeInteger)) {
      return stored as Stored;
    }
    this.#warn(`${this.dir}/${POSITION} cannot be read, so what waits there is sent from its beginning.`);
    return undefined;
  }

  /** Complete lines after the first. */
  #count({ name }: Segment): number {
    const bytes = this.#fs.readFileSync(`${this.dir}/${name}`);
    let count = -1;
    for (let at = bytes.indexOf(BREAK); at >= 0; at = bytes.indexOf(BREAK, at + 1)) count++;
    return Math.max(0, count);
  }

  #open(): void {
    const index = Math.max(this.#segments.at(-1)?.index ?? -1, this.#position.file) + 1;
    const name = `${String(index).padStart(8, "0")}-${String(this.#seq).padStart(12, "0")}.jsonl`;
    try {
      this.#lock.fence.check();
      this.#fd = this.#fs.openSync(`${this.dir}/${name}`, "wx");
    } catch (error) {
      this.#problem(error);
      return;
    }
    this.#segments.push({ index, seq: this.#seq, name, size: 0 });
    this.#write(`${JSON.stringify(this.#head)}\n`);
  }

  #write(text: string): boolean {
    if (this.#fd === undefined) return false;
    const bytes = new TextEncoder().encode(text);
    const segment = this.#segments.at(-1)!;
    try {
      for (let at = 0; at < bytes.byteLength;) {
        const written = this.#fs.writeSync(this.#fd, bytes, at);
        at += written;
        segment.size += written;
      }
      return true;
    } catch (error) {
      this.#problem(error);
      // A torn line must be the last of its file.
      this.#seal();
      return false;
    }
  }

  /** Each effect is reported once. */
  #problem(error: unknown, effect = "what is logged now is lost"): void {
    if (!this.#said.has(effect)) this.#warn(`${this.dir} cannot be written to, so ${effect}: ${messageOf(error)}`);
    this.#said.add(effect);
  }

  #seal(): void {
    const fd = this.#fd;
    this.#fd = undefined;
    try {
      if (fd !== undefined) this.#fs.closeSync(fd);
    } catch (error) {
      // Some disks report only now that they are full.
      this.#problem(error);
    }
  }

  #bound(): void {
    let total = this.#segments.reduce((sum, { size }) => sum + size, 0);
    while (total > this.#limit && this.#segments.length > 1) {
      const [oldest, following] = this.#segments as [Segment, Segment];
      const lost = following.seq - Math.max(this.#position.seq, oldest.seq);
      if (this.dropped === 0 && lost > 0) {
        this.#warn(`${this.dir} is full (${this.#limit} bytes): the oldest of what was not sent is dropped.`);
      }
      this.#droppedFrom ??= this.#position.seq;
      this.dropped += Math.max(0, lost);
      this.#remove(oldest);
      this.#position = { file: oldest.index, offset: 0, seq: Math.max(this.#position.seq, following.seq) };
      total -= oldest.size;
    }
  }

  #remove(segment: Segment): void {
    this.#segments.splice(this.#segments.indexOf(segment), 1);
    try {
      this.#lock.fence.check();
      this.#fs.rmSync(`${this.dir}/${segment.name}`, { force: true });
    } catch (error) {
      // The next start retries.
      this.#problem(error, "what was sent or dropped stays there");
    }
  }

  async #lines(
    { name, size }: Segment,
    from: number,
    { lines, bytes }: ChunkLimit,
  ): Promise<{ head: Json; lines: string[]; end: number } | undefined> {
    const file = await this.#fs.promises.open(`${this.dir}/${name}`, "r");
    try {
      const head = await readLines(file, 0, size, 1, bytes);
      if (!head) return undefined;
      const begin = Math.max(from, head.end);
      const found = await readLines(file, begin, size, lines, bytes);
      // The head alone says that a run has begun.
      if (!found && from > 0) return undefined;
      return { head: parsed(head.lines[0]!) ?? null, lines: found?.lines ?? [], end: found?.end ?? begin };
    } finally {
      await file.close();
    }
  }

  async #store(text: string): Promise<void> {
    const { promises: fs } = this.#fs;
    const beside = `${this.dir}/${POSITION}.tmp`;
    const file = await fs.open(beside, "w");
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await fs.rename(beside, `${this.dir}/${POSITION}`);
    const folder = await fs.open(this.dir, "r");
    try {
      await folder.sync();
    } catch {
      // Some systems cannot sync a directory; the rename is all that can be done there.
    } finally {
      await folder.close();
    }
  }
}

type Handle = Awaited<ReturnType<Fs["promises"]["open"]>>;

/** Complete lines from `from` on: up to so many lines and bytes, but at least one line. */
async function readLines(
  file: Handle,
  from: number,
  size: number,
  lines: number,
  bytes: number,
): Promise<{ lines: string[]; end: number } | undefined> {
  for (let length = Math.min(bytes, size - from); length > 0; length = Math.min(2 * length, size - from)) {
    const buffer = new Uint8Array(length);
    await file.read(buffer, 0, length, from);
    const decoder = new TextDecoder();
    const found: string[] = [];
    let start = 0;
    for (let at = buffer.indexOf(BREAK); at >= 0; at = buffer.indexOf(BREAK, start)) {
      found.push(decoder.decode(buffer.subarray(start, at)));
      start = at + 1;
      if (found.length >= lines) break;
    }
    if (found.length > 0) return { lines: found, end: from + start };
    if (length >= size - from) return undefined;
  }
  return undefined;
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
