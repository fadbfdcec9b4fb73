// Live lines at the bottom of a terminal: redrawn in place, with other output above them, and the terminal restored when
// the process ends.
//
// The cursor rests at the region's first character. A terminal that rewraps lines when it is made narrower keeps the
// cursor at that character, so erasing from there on always takes the region and never a line above it.
import { textWidth } from "./width.ts";

const ERASE_LINE_END = "\u001B[K";
const ERASE_BELOW = "\u001B[J";
const up = (rows: number): string => (rows > 0 ? `\u001B[${rows}A` : "");

/** More of an unfinished line than this is not written again. */
const LONGEST_PARTIAL = 4000;

/** Says what to write; writes nothing itself. */
export class Region {
  #lines: readonly string[] = [];
  #drawn = false;
  /** The unfinished line of other output: the region is drawn below it, and more of the line may follow. */
  #partial = "";

  get isDrawn(): boolean {
    return this.#drawn;
  }

  get hasPartial(): boolean {
    return this.#partial !== "";
  }

  get height(): number {
    return this.#lines.length;
  }

  /** Draws the region, over the one that is there. */
  draw(lines: readonly string[] = this.#lines): string {
    this.#lines = lines;
    if (lines.length === 0) return this.erase();
    const below = !this.#drawn && this.#partial !== "" ? "\n" : "";
    this.#drawn = true;
    const text = lines.map((line) => `${line}${ERASE_LINE_END}`).join("\n");
    return `${below}\r${text}${ERASE_BELOW}${up(lines.length - 1)}\r`;
  }

  /** Erases the region; later output takes its place, or continues an unfinished line. */
  erase(columns = Infinity): string {
    if (!this.#drawn) return "";
    this.#drawn = false;
    const partial = this.#partial;
    const rows = Math.max(1, Math.ceil(textWidth(partial) / columns));
    return `\r${ERASE_BELOW}${partial === "" ? "" : `${up(rows)}\r${partial}`}`;
  }

  /** Others' output, with the region out of its way. */
  above(text: string, columns: number): string {
    const cleared = this.erase(columns);
    const written = this.#partial + text;
    this.#partial = written.slice(written.lastIndexOf("\n") + 1).slice(-LONGEST_PARTIAL);
    return cleared + text;
  }

  /** Ends an unfinished line. */
  endPartial(): string {
    const open = this.#partial !== "";
    this.#partial = "";
    return open ? "\n" : "";
  }
}

export type Write = (chunk: string | Uint8Array, ...rest: unknown[]) => boolean;

export interface Writable {
  write: Write;
}

/**
 * Passes every write to a stream through `change`, which gets the text and returns what to write instead. `undo` restores
 * the stream, and leaves a later patch by others in place.
 */
export function patchWrite(stream: Writable, change: (text: string) => string): { original: Write; undo: () => void } {
  const own = Object.getOwnPropertyDescriptor(stream, "write");
  const original = stream.write;
  const decoder = new TextDecoder();
  let active = true;
  const patched: Write = function write(chunk, ...rest) {
    const [encoding] = rest;
    const plain = typeof chunk !== "string" || typeof encoding !== "string" || /^utf-?8$/i.test(encoding);
    if (!active || !plain) return original.call(stream, chunk, ...rest);
    let text = chunk;
    if (typeof text !== "string") text = decoder.decode(text, { stream: true });
    return original.call(stream, change(text), ...rest);
  };
  stream.write = patched;
  return {
    original: (...args) => original.apply(stream, args),
    undo() {
      active = false;
      if (stream.write !== patched) return;
      if (own) Object.defineProperty(stream, "write", own);
      else Reflect.deleteProperty(stream, "write");
    },
  };
}

/** Signals that end a process by default. */
const DEADLY = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export interface GuardedProcess {
  readonly pid: number;
  on(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
  listenerCount(event: string): number;
  kill(pid: number, signal: string): unknown;
}

/** Calls `restore` when the process exits, fails or is signalled to end. Returns a function that undoes it. */
export function guard(process: GuardedProcess, restore: () => void): () => void {
  const handlers: [event: string, handler: () => void][] = DEADLY.map((signal) => [
    signal,
    () => {
      // Another listener, such as the trainer's, handles it: then the run ends in its own way.
      if (process.listenerCount(signal) > 1) return;
      restore();
      undo();
      // Without a listener, the signal has its default effect.
      process.kill(process.pid, signal);
    },
  ]);
  // Before Node prints the error that ends it.
  handlers.push(["uncaughtExceptionMonitor", restore], ["exit", restore]);
  function undo(): void {
    for (const [event, handler] of handlers) process.off(event, handler);
  }
  for (const [event, handler] of handlers) process.on(event, handler);
  return undo;
}
