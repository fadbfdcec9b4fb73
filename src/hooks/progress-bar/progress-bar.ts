// How far the run is: a live bar on a terminal, a plain line now and then elsewhere.
import type { Hook } from "../../core/hook.ts";
import type { NameFilter } from "../../core/names.ts";
import { component } from "../../core/component.ts";
import { is } from "../../core/options.ts";
import { barOutput, type BarOutput } from "./output.ts";
import { BarState } from "./state.ts";

/** Options of `progressBar`. */
export interface ProgressBarOptions {
  /** What to show, of `loss`, `lr` and all metrics. Default: these two and what the last evaluation found. */
  readonly metrics?: NameFilter;
  /** A small curve of the loss. Default true. */
  readonly sparkline?: boolean;
  /** False: plain lines on a terminal too; true: a live bar in spite of CI. Default: live on a terminal. */
  readonly live?: boolean;
  /** Seconds between plain lines; each epoch ends with one as well. Default 5. */
  readonly plainEvery?: number;
  /** Shows nothing. Default: what `--quiet` on the command line or HOOKLINE_QUIET say. */
  readonly quiet?: boolean;
  /** Columns. Default: as many as the terminal has. */
  readonly width?: number;
  /** Default: on a terminal, unless NO_COLOR is set; FORCE_COLOR is respected. */
  readonly color?: boolean;
  /** No characters but ASCII. Default: by the locale. */
  readonly ascii?: boolean;
  /** Gets the plain lines instead of stdout; in a browser nothing is shown without it. */
  readonly write?: (text: string) => void;
  readonly name?: string;
}

/**
 * Shows epoch, steps, speed, time left, the loss and what else you choose; evaluations have a bar of their own. What
 * others print meanwhile appears above it. It looks at the run at most ten times a second.
 * @example progressBar({ metrics: ["loss", "val/accuracy"] })
 */
export const progressBar = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "progressBar",
    takes: () => ({
      options: {
        metrics: is.or(is.name, is.arrayOf(is.name), is.function),
        sparkline: is.boolean,
        live: is.boolean,
        plainEvery: is.positive,
        quiet: is.boolean,
        width: is.wholeFrom(1),
        color: is.boolean,
        ascii: is.boolean,
        write: is.function,
        name: is.name,
      },
    }),
  },
  makeProgressBar,
);

function makeProgressBar(options: ProgressBarOptions = {}): Hook {
  const { name = "progressBar" } = options;
  const state = new BarState(options);
  const output = barOutput(options, state);
  // Nobody to show it to: then it does not listen either.
  return output === undefined ? { name, stage: "progress" } : barHook(name, state, output);
}

function barHook(name: string, state: BarState, output: BarOutput): Hook {
  /** When to look again, on the clock of `performance.now()`. */
  let next = 0;

  function show(now: number): void {
    next = now + output.gap;
    output.show();
  }

  return {
    name,
    stage: "progress",
    ranks: "main",
    onTrainBegin(ctx) {
      // The first step is shown at once: it has compiled, and tells that all is well.
      next = 0;
      state.begin(ctx);
      output.begin();
    },
    onStepEnd(ctx) {
      const now = performance.now();
      // The last step's loss is what will stand there in the end.
      const last = ctx.step === ctx.totalSteps;
      if (now < next && !last) return;
      state.look(ctx, now);
      if (now >= next) show(now);
    },
    onEpochEnd(ctx) {
      state.epochEnd(ctx);
      output.epochEnd();
    },
    onEvalBegin(ctx) {
      state.evalBegin(ctx);
      next = Math.max(next, performance.now() + output.evalDelay);
      if (ctx.phase === "standalone") output.begin();
    },
    onEvalBatchEnd(ctx) {
      state.evalBatches = ctx.batchIdx + 1;
      const now = performance.now();
      if (now >= next) show(now);
    },
    onEvalEnd(ctx) {
      state.evalEnd(ctx);
      if (ctx.phase === "standalone") output.endEvaluation(ctx.evalMetrics);
    },
    onTrainEnd(ctx) {
      state.end(ctx);
      output.end(ctx);
    },
    // Also after whatever went wrong: the terminal is given back.
    onClose: () => output.close(),
  };
}
