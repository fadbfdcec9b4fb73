// A file of Chrome trace events, written as they come. The format allows the closing bracket to be missing, so what is
// there after a crash can still be read.
import { builtin } from "../../platform/builtin.ts";

type Fs = ReturnType<typeof process.getBuiltinModule<"node:fs">>;
type Path = ReturnType<typeof process.getBuiltinModule<"node:path">>;
type Stream = ReturnType<Fs["createWriteStream"]>;

const END = "\n]\n";
/** Events are written in pieces of this many characters, or when they have waited this long. */
const PIECE = 64 * 1024;
const LONGEST_WAIT_MS = 1000;
/** How many bytes the disk may be behind before the run waits for it. */
const MOST_BEHIND = 1024 * 1024;

/** A span of time on one of the tracks, in milliseconds since the beginning. */
export interface Span {
  readonly name: string;
  readonly track: number;
  readonly start: number;
  readonly end: number;
  readonly args?: Readonly<Record<string, string | number | boolean>>;
}

export class TraceFile {
  readonly #stream: Stream;
  /** Where in the file this part begins. */
  readonly #start: number;
  #lines: string[] = [];
  #size = 0;
  #flushedAt = performance.now();
  #error: Error | undefined;

  private constructor(stream: Stream, start: number) {
    this.#stream = stream;
    this.#start = start;
    stream.on("error", (error) => (this.#error ??= error));
  }

  /** A new file with these tracks; with `at`, goes on in the file that `close` left there. */
  static async open(owner: string, file: string, tracks: readonly string[], at = 0): Promise<TraceFile> {
    const fs = builtin<Fs>(owner, "node:fs");
    await fs.promises.mkdir(builtin<Path>(owner, "node:path").dirname(file), { recursive: true });
    const place = at === 0 ? {} : { flags: "r+", start: at };
    const stream = fs.createWriteStream(file, { ...place, highWaterMark: MOST_BEHIND });
    await new Promise<void>((resolve, reject) => {
      stream.once("open", () => resolve());
      stream.once("error", reject);
    });
    const trace = new TraceFile(stream, at);
    if (at === 0) {
      const meta = (name: string, tid: number, shown: string): string =>
        JSON.stringify({ name, ph: "M", pid: 1, tid, args: { name: shown } });
      trace.#put(`[\n${meta("process_name", 0, "hookline")}`);
      tracks.forEach((track, i) => trace.#add(meta("thread_name", i + 1, track)));
      void trace.#flush();
    }
    return trace;
  }

  add({ name, track, start, end, args }: Span): void {
    const times = `"ts":${micros(start)},"dur":${micros(end - start)}`;
    const more = args ? `,"args":${JSON.stringify(args)}` : "";
    this.#add(`{"name":${JSON.stringify(name)},"ph":"X",${times},"pid":1,"tid":${track + 1}${more}}`);
  }

  /** Hands over what is due; a promise when the disk is behind, so that memory stays bounded. Throws what went wrong. */
  settle(): void | Promise<void> {
    if (this.#error) throw this.#error;
    if (this.#size < PIECE && performance.now() - this.#flushedAt < LONGEST_WAIT_MS) return undefined;
    return this.#flush();
  }

  /** Completes the file; resolves to where `open` can go on. */
  async close(): Promise<number> {
    this.#put(END);
    void this.#flush();
    await new Promise<void>((resolve) => {
      this.#stream.once("close", resolve);
      this.#stream.end();
      if (this.#stream.closed) resolve();
    });
    if (this.#error) throw this.#error;
    return this.#start + this.#stream.bytesWritten - END.length;
  }

  #add(line: string): void {
    this.#put(`,\n${line}`);
  }

  #put(text: string): void {
    this.#lines.push(text);
    this.#size += text.length;
  }

  /** A promise when the disk is behind; a failure ends it too, and shows in `settle` and `close`. */
  #flush(): void | Promise<void> {
    const text = this.#lines.join("");
    this.#lines = [];
    this.#size = 0;
    this.#flushedAt = performance.now();
    if (this.#error) return undefined;
    let written = (): void => undefined;
    const writing = new Promise<void>((resolve) => (written = resolve));
    return this.#stream.write(text, () => written()) ? undefined : writing;
  }
}

/** Microseconds with three decimals: a hook's call may take less than one. */
const micros = (ms: number): number => Math.round(ms * 1e6) / 1e3;
