// timeline: records steps, data waits, evaluations and hook calls as a trace for Perfetto or chrome://tracing.
import type { ContextOf } from "../core/context.ts";
import type { Hook } from "../core/hook.ts";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";
import type { Disposer } from "../core/registry/registry.ts";
import { type Builtin, builtin } from "../platform/builtin.ts";

/** Options of `timeline`. */
export interface TimelineOptions {
  /** The trace file, about 100 bytes per step and hook call. Open it in ui.perfetto.dev or chrome://tracing. */
  readonly file: string;
  /** The first step to record. Default 1. */
  readonly from?: number;
  /** The last step to record. Default: all. */
  readonly until?: number;
  readonly name?: string;
}

const TRACKS = ["loop", "hooks"] as const;
const [LOOP, HOOKS] = [0, 1];

type Scope = "epoch" | "step" | "eval" | "data wait";

/**
 * Listens to no event between the forward pass and the update, so steps stay fused. While it records, every call of a
 * hook is measured.
 * @example timeline({ file: "runs/digits/timeline.json", from: 100, until: 120 })
 */
export const timeline = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "timeline",
    takes: () => ({
      options: { file: is.pathToWrite, from: is.wholeFrom(1), until: is.wholeFrom(1), name: is.name },
      required: ["file"],
    }),
  },
  makeTimeline,
);

function makeTimeline(options: TimelineOptions): Hook {
  const { file, from = 1, until = Infinity, name = "timeline" } = options;
  let trace: TraceFile | undefined;
  /** Where the next `fit` continues in the file, and the file's time zero. */
  let end = 0;
  let zero = 0;
  let watching: Disposer | undefined;
  /** When the open scopes began. */
  const began = new Map<Scope, number>();
  /** When the first hook of an event was called: the end of the data wait, or the start of the step. */
  const firstCall = new Map<string, number>();

  const now = (): number => performance.now() - zero;

  function begin(scope: Scope, at = now()): void {
    if (watching) began.set(scope, at);
  }

  function finish(scope: Scope, args: Record<string, string | number | boolean> = {}, at = now()): void {
    const start = began.get(scope);
    began.delete(scope);
    if (trace && start !== undefined) trace.add({ name: scope, track: LOOP, start, end: at, args });
  }

  function called(hook: string, event: string, ms: number): void {
    if (hook === name || !trace) return;
    const at = now();
    if (!firstCall.has(event)) firstCall.set(event, at - ms);
    trace.add({ name: hook, track: HOOKS, start: at - ms, end: at, args: { event } });
  }

  /** Records from step `from` until the step after `until` begins. */
  function follow({ hooks }: Pick<ContextOf<"stepBegin">, "hooks">, step: number): void {
    const wanted = trace !== undefined && step >= from && step <= until;
    if (wanted === (watching !== undefined)) return;
    if (wanted) watching = hooks.watch(called);
    else stopWatching();
  }

  function stopWatching(): void {
    watching?.();
    watching = undefined;
  }

  return {
    name,
    // Last, so that its scopes include the calls of other hooks.
    stage: "progress",
    ranks: "main",
    async onTrainBegin(ctx) {
      if (end === 0) zero = performance.now();
      trace = await TraceFile.open(name, file, TRACKS, end);
      follow(ctx, ctx.step + 1);
    },
    onEpochBegin: () => begin("epoch"),
    onStepBegin(ctx) {
      follow(ctx, ctx.step);
      begin("step", firstCall.get("stepBegin"));
      firstCall.clear();
    },
    onBeforeFetch: () => begin("data wait"),
    onBatchBegin(ctx) {
      finish("data wait", { loader: ctx.loaderName }, firstCall.get("batchBegin"));
      firstCall.delete("batchBegin");
    },
    onStepEnd(ctx) {
      finish("step", { step: ctx.step, ...(ctx.skipped && { skipped: true }) });
      firstCall.clear();
      return trace?.settle();
    },
    onEvalBegin: () => begin("eval"),
    onEvalEnd: (ctx) => finish("eval", { loader: ctx.loaderName }),
    onEpochEnd: (ctx) => finish("epoch", { epoch: ctx.epoch }),
    async onClose() {
      stopWatching();
      // After a failure, scopes are still open: close them here.
      for (const scope of began.keys()) finish(scope, { cutOff: true });
      firstCall.clear();
      const last = trace;
      trace = undefined;
      if (last) end = await last.close();
    },
  };
}

type Fs = Builtin<"node:fs">;
type Stream = ReturnType<Fs["createWriteStream"]>;

const END = "\n]\n";
/** Events are written in pieces of this many characters, or after this time. */
const PIECE = 64 * 1024;
const FLUSH_AFTER_MS = 1000;
/** How many bytes may be buffered before the run waits for the disk. */
const MOST_BEHIND = 1024 * 1024;

/** A time span on one of the tracks, in milliseconds since time zero. */
interface Span {
  readonly name: string;
  readonly track: number;
  readonly start: number;
  readonly end: number;
  readonly args?: Readonly<Record<string, string | number | boolean>>;
}

/**
 * A file of Chrome trace events, written as they come. The format allows the closing bracket to be missing, so a file that
 * a crash left behind can be read.
 */
class TraceFile {
  readonly #stream: Stream;
  /** Where this part begins in the file. */
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

  /** Opens a new file with these tracks; with `at`, continues the file that `close` left. */
  static async open(owner: string, file: string, tracks: readonly string[], at = 0): Promise<TraceFile> {
    const fs = builtin(owner, "node:fs");
    await fs.promises.mkdir(builtin(owner, "node:path").dirname(file), { recursive: true });
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

  /** Writes what is due; a promise when the disk is behind, so that memory stays bounded. Throws earlier errors. */
  settle(): void | Promise<void> {
    if (this.#error) throw this.#error;
    if (this.#size < PIECE && performance.now() - this.#flushedAt < FLUSH_AFTER_MS) return undefined;
    return this.#flush();
  }

  /** Completes the file; resolves to the position at which `open` can continue. */
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

  /** A promise when the disk is behind. A failure resolves it too, and is thrown by `settle` and `close`. */
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

/** Microseconds with three decimals, since a hook call may take less than one. */
const micros = (ms: number): number => Math.round(ms * 1e6) / 1e3;
