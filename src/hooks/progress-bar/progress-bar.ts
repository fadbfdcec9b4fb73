// progressBar: shows progress as a live bar on a terminal and as plain lines elsewhere.
import type { Hook } from "../../core/hook.ts";
import type { NameFilter } from "../../core/names.ts";
import { component } from "../../core/component.ts";
import { is } from "../../core/options.ts";
import { barOutput, type BarOutput } from "./output.ts";
import { BarState } from "./state.ts";

/** Options of `progressBar`. */
export interface ProgressBarOptions {
  /** Which of `loss`, `lr` and all metrics to show. Default: these two and the metrics of the last evaluation. */
  readonly metrics?: NameFilter;
  /** Draw a small curve of the loss. Default true. */
  readonly sparkline?: boolean;
  /** Show the memory in use: of the device where the engine reports it, else of the process. Default false. */
  readonly memory?: boolean;
  /** False: plain lines even on a terminal. True: a live bar even in CI. Default: live on a terminal. */
  readonly live?: boolean;
  /** Seconds between plain lines; each epoch ends with one as well. Default 5. */
  readonly plainEvery?: number;
  /** Show nothing. Default: true with `--quiet` on the command line or HOOKLINE_QUIET. */
  readonly quiet?: boolean;
  /** The most columns to use. Default: the terminal's width. */
  readonly width?: number;
  /** Use colors. Default: on a terminal, unless NO_COLOR is set; FORCE_COLOR is respected. */
  readonly color?: boolean;
  /** Use ASCII characters only. Default: depends on the locale. */
  readonly ascii?: boolean;
  /** Receives the plain lines instead of stdout; in a browser nothing is shown without it. */
  readonly write?: (text: string) => void;
  readonly name?: string;
}

/**
 * Shows epoch, steps, speed (also in tokens, where they are counted), time left, the loss and metrics of your choice;
 * evaluations have a bar of their own. Other output appears above it. It reads the run at most ten times a second.
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
        memory: is.boolean,
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
  // Without an output, the hook listens to nothing.
  return output === undefined ? { name, stage: "progress" } : barHook(name, state, output);
}

/** Of the time between two updates, reading takes no more than one part in this many. */
const TIMES_READ = 10;
const LONGEST_GAP = 1000;

function barHook(name: string, state: BarState, output: BarOutput): Hook {
  /** When to update next, as `performance.now()` counts. */
  let next = 0;

  /** `read`: milliseconds that it took to read what is shown. A GPU works ahead; to read its loss is to wait until it is idle. */
  function show(now: number, read = 0): void {
    next = now + Math.max(output.gap, Math.min(read * TIMES_READ, LONGEST_GAP));
    output.show();
  }

  return {
    name,
    stage: "progress",
    ranks: "main",
    onTrainBegin(ctx) {
      // Show the first step at once: it compiled, and the run is working.
      next = 0;
      state.begin(ctx);
      output.begin();
    },
    onStepEnd(ctx) {
      const now = performance.now();
      // The last step's loss stays on the screen.
      const last = ctx.step === ctx.totalSteps;
      if (now < next && !last) return;
      const isDue = now >= next;
      state.look(ctx, now);
      if (isDue) show(now, performance.now() - now);
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
    // After an error too, the terminal must be restored.
    onClose: () => output.close(),
  };
}
