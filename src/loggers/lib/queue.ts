// What waits to be sent: lines in order, each with the run it belongs to, and how far a service has acknowledged them.
import type { Json } from "../../core/json.ts";

/** Behind the last line of a chunk. */
export interface Position {
  /** Which file of the queue. */
  readonly file: number;
  /** Bytes from its beginning. */
  readonly offset: number;
  /** How many records lie before it, since the queue was first used. */
  readonly seq: number;
}

export interface Chunk {
  /** What `begin` was given for these lines. */
  readonly head: Json;
  /** None, when a run has begun and logged nothing yet. */
  readonly lines: readonly string[];
  readonly end: Position;
}

export interface ChunkLimit {
  readonly lines: number;
  readonly bytes: number;
}

export interface Queue {
  /** Where it lies; undefined in memory, where it ends with the process. */
  readonly dir: string | undefined;
  /** What the last acknowledgement was stored with. */
  readonly state: Json | undefined;
  /** Records that are not acknowledged. */
  readonly waiting: number;
  /** Records that had to go because the queue was full or could not be written. */
  readonly dropped: number;
  /** The lines that follow belong to this. */
  begin(head: Json): void;
  /** Hands lines over to the system. None may have a line break in it. */
  append(lines: readonly string[]): void;
  /** The first lines that are not acknowledged; at least one line, if there is one, however long. */
  next(limit: ChunkLimit): Promise<Chunk | undefined>;
  /** All up to `end` has arrived. It and `state` are stored together, durably, or not at all. */
  acknowledge(end: Position, state: Json): Promise<void>;
  close(): void;
}
