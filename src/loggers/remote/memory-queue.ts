// The interface of a queue of lines to be sent, and the queue in memory, for runs without a directory.
import type { Json } from "../../core/options.ts";

/** The position after the last line of a chunk. */
export interface Position {
  /** Which file of the queue. */
  readonly file: number;
  /** Bytes from its beginning. */
  readonly offset: number;
  /** The number of records before it, since the queue was first used. */
  readonly seq: number;
}

export interface Chunk {
  /** What `begin` was called with for these lines. */
  readonly head: Json;
  /** Empty when a run has begun and logged nothing yet. */
  readonly lines: readonly string[];
  readonly end: Position;
}

export interface ChunkLimit {
  readonly lines: number;
  readonly bytes: number;
}

export interface Queue {
  /** Its directory; undefined in memory. */
  readonly dir: string | undefined;
  /** The state of the last acknowledgement. */
  readonly state: Json | undefined;
  /** Records that are not acknowledged. */
  readonly waiting: number;
  /** Records dropped because the queue was full or could not be written. */
  readonly dropped: number;
  /** The lines that follow belong to the run described by `head`. */
  begin(head: Json): void;
  /** Writes lines, none of which may have a line break in it. */
  append(lines: readonly string[]): void;
  /** The first lines that are not acknowledged; at least one line, if there is one, however long. */
  next(limit: ChunkLimit): Promise<Chunk | undefined>;
  /** Everything up to `end` has arrived. The position and `state` are stored together, durably, or not at all. */
  acknowledge(end: Position, state: Json): Promise<void>;
  close(): void;
}

interface Part {
  readonly index: number;
  readonly head: Json;
  readonly lines: string[];
}

export class MemoryQueue implements Queue {
  readonly dir = undefined;
  state: Json | undefined;
  dropped = 0;
  readonly #limit: number;
  readonly #parts: Part[] = [];
  #bytes = 0;
  #seq = 0;
  #acknowledged = 0;
  /** Whether the head of the first part has been returned. */
  #begun = false;

  /** `limit` is in characters. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get waiting(): number {
    return this.#seq - this.#acknowledged;
  }

  begin(head: Json): void {
    this.#parts.push({ index: (this.#parts.at(-1)?.index ?? -1) + 1, head, lines: [] });
  }

  append(lines: readonly string[]): void {
    const { lines: last } = this.#parts.at(-1)!;
    for (const line of lines) {
      last.push(line);
      this.#bytes += line.length;
    }
    this.#seq += lines.length;
    while (this.#bytes > this.#limit && this.waiting > 1) {
      this.#shift();
      this.dropped++;
      this.#acknowledged++;
    }
  }

  next(limit: ChunkLimit): Promise<Chunk | undefined> {
    while (this.#parts.length > 1 && this.#begun && this.#parts[0]!.lines.length === 0) {
      this.#parts.shift();
      this.#begun = false;
    }
    const [part] = this.#parts;
    if (!part || (this.#begun && part.lines.length === 0)) return Promise.resolve(undefined);
    let bytes = 0;
    const over = part.lines.findIndex((line, i) => i > 0 && (i >= limit.lines || (bytes += line.length) > limit.bytes));
    const lines = part.lines.slice(0, over < 0 ? undefined : over);
    const end = { file: part.index, offset: 0, seq: this.#acknowledged + lines.length };
    return Promise.resolve({ head: part.head, lines, end });
  }

  acknowledge({ seq }: Position, state: Json): Promise<void> {
    this.state = state;
    this.#begun = true;
    for (; this.#acknowledged < seq; this.#acknowledged++) this.#shift();
    return Promise.resolve();
  }

  close(): void {
    this.#parts.length = 0;
  }

  #shift(): void {
    const filled = this.#parts.findIndex(({ lines }) => lines.length > 0);
    if (filled < 0) return;
    this.#bytes -= this.#parts[filled]!.lines.shift()!.length;
  }
}
