// Where the time goes: steps, waiting for data, evaluations and every call of a hook, as a file for chrome://tracing or Perfetto.
import type { ContextOf } from "../core/context.types.ts";
import type { Hook } from "../core/hook.ts";
import { checkOptions, is } from "../core/options.ts";
import type { Disposer } from "../core/disposer.ts";
import { TraceFile } from "./lib/trace-file.ts";

/** Options of `timeline`. */
export interface TimelineOptions {
  /** The trace, about 100 bytes for each step and call. Open it in ui.perfetto.dev or chrome://tracing. */
  readonly file: string;
  /** The first step to record. Default 1. */
  readonly from?: number;
  /** The last step to record. Default: all. */
  readonly until?: number;
  readonly name?: string;
}

const CHECKS = { file: is.name, from: is.wholeFrom(1), until: is.wholeFrom(1), name: is.name };

const TRACKS = ["loop", "hooks"] as const;
const [LOOP, HOOKS] = [0, 1];

type Scope = "epoch" | "step" | "eval" | "data wait";

/**
 * Records a trace of the run. It listens to nothing between the forward pass and the update, so the step stays what
 * it is without it; while it records, every call of a hook is measured.
 * @example timeline({ file: "runs/digits/timeline.json", from: 100, until: 120 })
 */
export function timeline(options: TimelineOptions): Hook {
  checkOptions("timeline", options, CHECKS, ["file"]);
  const { file, from = 1, until = Infinity, name = "timeline" } = options;
  let trace: TraceFile | undefined;
  /** Where a further fit goes on in the file, and the time that the file calls zero. */
  let end = 0;
  let zero = 0;
  let watching: Disposer | undefined;
  /** When the open scopes began. */
  const began = new Map<Scope, number>();
  /** When the first hook of these events was called: there the wait for data ended and the step began. */
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

  /** Records from the step `from` on, until the one after `until` begins. */
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
    // Last, so that its scopes end after the other hooks' calls in them.
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
      // A run that failed leaves scopes open: they end here, with it.
      for (const scope of began.keys()) finish(scope, { cutOff: true });
      firstCall.clear();
      const last = trace;
      trace = undefined;
      if (last) end = await last.close();
    },
  };
}
