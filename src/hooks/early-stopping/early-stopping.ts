// earlyStopping: ends the run when a metric stops improving, and can restore the best parameters.
import { printLine, warnUser } from "../../platform/print.ts";
import type { Cadence } from "../../core/cadence.ts";
import type { ContextOf } from "../../core/context.ts";
import type { DeviceTensors } from "../../core/inspection.ts";
import { component } from "../../core/component.ts";
import { OptionError } from "../../core/errors.ts";
import type { Hook } from "../../core/hook.ts";
import type { HostTensors } from "../../core/model.ts";
import { evalLoaderNames, monitorValue, unknownMonitor } from "../../core/names.ts";
import { checkStopOptions, EARLY_STOPPING_CHECKS, makeTrackers } from "./options.ts";
import { type Tracker, type TrackerState, brief } from "./tracker.ts";

/** One value for all monitored metrics, or one per metric by name. */
export type PerMonitor<T> = T | Readonly<Record<string, T>>;

/** Decides whether to stop, given which metrics alone would stop the run. */
export type CombineFn = (
  wouldStop: Readonly<Record<string, boolean>>,
  metrics: Readonly<Record<string, number>>,
) => boolean;

/** Options of `earlyStopping`. */
export interface EarlyStoppingOptions {
  readonly name?: string;
  /** One metric or several. Default `val/loss`. With `checkOn: "step"`, `loss` is the step's and `train/loss` the epoch's mean so far. */
  readonly monitor?: string | readonly string[];
  /** With several metrics: stop when any of them would stop (default), when all would, or as a function decides. */
  readonly combine?: "any" | "all" | CombineFn;
  /** Whether lower or higher is better. Default `auto`: higher for accuracies, scores and the like, lower otherwise. */
  readonly mode?: PerMonitor<"min" | "max" | "auto">;
  /** How long to wait for an improvement: a number of checks, `"3 epochs"` or `"500 steps"`. Default 3 checks. */
  readonly patience?: number | string;
  /** The smallest change that counts as an improvement: a number, or a share of the best value such as `"1%"`. Default 0. */
  readonly minDelta?: PerMonitor<number | string>;
  /** Only values better than this count as improvements. */
  readonly baseline?: PerMonitor<number>;
  /** Stops at once when the metric reaches this value. */
  readonly stoppingThreshold?: PerMonitor<number>;
  /** Stops at once when the metric is worse than this value. */
  readonly divergenceThreshold?: PerMonitor<number>;
  /** Stops at once when a metric is NaN or infinite. Default true. */
  readonly checkFinite?: boolean;
  /** When checks start: `"2 epochs"`, `"500 steps"`, `"10%"`. Default: at once. */
  readonly startFrom?: number | string;
  /** When the metric is checked. Default `eval`; `epoch` when all metrics are `train/…`. */
  readonly checkOn?: "eval" | "epoch" | "step";
  /** Which of these events are checks, for a metric that is not computed every time. */
  readonly every?: Cadence;
  /** True (default): a missing metric is an error. False: the check is left out, and a metric that never came is a warning at the end. */
  readonly strict?: boolean;
  /** Prints the metric and its best value at each check. */
  readonly verbose?: boolean;
  /**
   * Restores the parameters of the best check (of the first metric) at the end, whatever ended the run: from the engine's
   * memory (`true`, `memory`) or from the best of the run's checkpoints (`checkpoint`). Default false.
   */
  readonly restoreBest?: boolean | "memory" | "checkpoint";
}

type CheckContext = ContextOf<"evalEnd"> | ContextOf<"epochEnd"> | ContextOf<"stepEnd">;
type Read = (monitor: string) => number | undefined;

interface Saved {
  readonly trackers: Readonly<Record<string, TrackerState>>;
  readonly keptStep: number;
}

/**
 * @example
 * earlyStopping({ monitor: "val/loss", patience: 3, restoreBest: true })
 */
export const earlyStopping = /* @__PURE__ */ component(
  { kind: "hook", name: "earlyStopping", takes: () => ({ options: EARLY_STOPPING_CHECKS }) },
  makeEarlyStopping,
);

function makeEarlyStopping(options: EarlyStoppingOptions = {}): Hook {
  checkStopOptions(options);
  const { name = "earlyStopping", combine = "any", strict = true, verbose = false } = options;
  const restoreBest = options.restoreBest === true ? "memory" : options.restoreBest;
  const trackers = makeTrackers(options);
  const monitors = trackers.map(({ monitor }) => monitor);
  const checkOn = options.checkOn ?? (monitors.every((monitor) => monitor.startsWith("train/")) ? "epoch" : "eval");
  const cadences = [options.every, options.startFrom !== undefined && { from: options.startFrom }];
  const every = cadences.filter((cadence) => cadence !== undefined && cadence !== false);
  let kept: DeviceTensors | HostTensors | undefined;
  let keptStep = 0;
  /** Metrics seen in this call of `fit`. */
  const come = new Set<string>();

  const drop = (): void => {
    if (isOnDevice(kept)) kept.free();
    kept = undefined;
  };

  function check(ctx: CheckContext, read: Read): void {
    const values = monitors.map((monitor) => read(monitor));
    for (const [i, monitor] of monitors.entries()) if (values[i] !== undefined) come.add(monitor);
    const missing = values.indexOf(undefined);
    if (missing >= 0) {
      if (!strict) return;
      const { message } = unknownMonitor(name, monitors[missing]!, ctx.metrics);
      throw new OptionError(`${message} If it is not computed every time, set \`strict: false\`.`);
    }
    const verdicts = trackers.map((tracker, i) => tracker.observe(values[i]!, ctx));
    if (restoreBest === "memory" && verdicts[0]!.improved) {
      drop();
      kept = ctx.params.snapshot([...ctx.params.names, ...ctx.params.buffers]);
      keptStep = ctx.step;
    }
    if (verbose) {
      for (const [i, { monitor, state }] of trackers.entries()) {
        const news = verdicts[i]!.improved ? "the best so far" : `best ${brief(state.best ?? Number.NaN)}`;
        printLine(`${name}: ${monitor} ${brief(values[i]!)} at step ${ctx.step}, ${news}`);
      }
    }
    const failed = verdicts.find((verdict) => verdict.failed);
    if (failed) return ctx.stop(`${name}: ${failed.why}`);
    const wouldStop = verdicts.map(({ why }) => why !== undefined);
    if (decide(wouldStop, ctx)) {
      const why = verdicts.flatMap((verdict) => verdict.why ?? []).join(" and ");
      ctx.stop(`${name}: ${why || "its `combine` function decided so"}`);
    }
  }

  /** Without `strict`, nothing else would reveal a misspelt name. */
  function warnOfMissing({ config, metrics }: ContextOf<"trainEnd">): void {
    const missing = trackers.find(({ monitor, state }) => state.best === null && !come.has(monitor));
    if (missing) warnUser(config, `${unknownMonitor(name, missing.monitor, metrics).message} It was never checked.`);
  }

  function decide(wouldStop: readonly boolean[], ctx: CheckContext): boolean {
    if (combine === "any") return wouldStop.includes(true);
    if (combine === "all") return !wouldStop.includes(false);
    return combine(Object.fromEntries(monitors.map((monitor, i) => [monitor, wouldStop[i]!])), ctx.metrics);
  }

  return {
    name,
    stage: "monitor",
    // On steps `loss` is read from the step itself.
    ...(strict && { monitors: monitors.filter((monitor) => checkOn !== "step" || monitor !== "loss") }),
    ...(every.length > 0 && { every }),
    onTrainBegin(ctx) {
      come.clear();
      if (strict && checkOn === "eval" && ctx.config.eval === undefined) {
        throw new OptionError(
          `${name}: it checks \`${monitors.join("`, `")}\` after evaluations, but there are none: give the trainer \`eval\`, or set \`checkOn: "epoch"\`.`,
        );
      }
      if (restoreBest === "checkpoint" && !ctx.checkpoints.enabled) {
        throw new OptionError(
          `${name}: \`restoreBest: "checkpoint"\` needs a place for checkpoints: give the trainer \`runDir\` or a \`store\`, or set \`restoreBest: "memory"\`.`,
        );
      }
      // A new run does not continue an earlier one's checks.
      if (ctx.step > 0) return;
      drop();
      for (const tracker of trackers) tracker.reset();
    },
    ...(checkOn === "eval" && {
      onEvalEnd(ctx: ContextOf<"evalEnd">) {
        // With several loaders, check after the last one, when every metric is of this evaluation.
        if (ctx.phase !== "eval" || ctx.partial || ctx.loaderName !== evalLoaderNames(ctx.config.eval).at(-1)) return;
        check(ctx, (monitor) => monitorValue(ctx.metrics, monitor));
      },
    }),
    ...(checkOn === "epoch" && {
      onEpochEnd(ctx: ContextOf<"epochEnd">) {
        if (!ctx.partial) check(ctx, (monitor) => monitorValue(ctx.metrics, monitor));
      },
    }),
    ...(checkOn === "step" && {
      onStepEnd(ctx: ContextOf<"stepEnd">) {
        if (ctx.skipped) return;
        check(ctx, (monitor) => {
          if (monitor === "train/loss") return ctx.avgLoss;
          return monitor === "loss" ? ctx.loss : monitorValue(ctx.metrics, monitor);
        });
      },
    }),
    async onTrainEnd(ctx) {
      if (!strict && ctx.status !== "error") warnOfMissing(ctx);
      const { monitor, state } = trackers[0]!;
      const { best, bestStep } = state;
      if (best === null || ctx.status === "error") return;
      const was = `the best ${monitor}, ${brief(best)}, was at step ${bestStep}`;
      if (restoreBest === "checkpoint") {
        if (bestStep !== ctx.step) await restoreBestCheckpoint(ctx, name, trackers[0]!, was);
        return;
      }
      // If the best step is the last one, its parameters are in place.
      if (kept !== undefined && keptStep !== ctx.step) ctx.setParams(kept, was);
    },
    state() {
      const states = Object.fromEntries(trackers.map((each) => [each.monitor, { ...each.state }]));
      const json = { trackers: states, keptStep };
      // The tensors stay on the engine until the checkpoint writes them.
      return kept === undefined || isFreed(kept) ? { json } : { json, tensors: kept };
    },
    load({ json, tensors }) {
      const saved = json as unknown as Saved;
      for (const tracker of trackers) tracker.state = saved.trackers[tracker.monitor] ?? tracker.state;
      drop();
      if (restoreBest !== "memory" || tensors === undefined) return;
      kept = tensors;
      keptStep = saved.keptStep;
    },
  };
}

const isOnDevice = (kept: DeviceTensors | HostTensors | undefined): kept is DeviceTensors =>
  typeof kept?.free === "function";

const isFreed = (kept: DeviceTensors | HostTensors): boolean => isOnDevice(kept) && kept.freed;

/**
 * Restores the weights of the best check's checkpoint or, if that check was not saved, of the best saved one. `was`
 * describes the best check.
 */
async function restoreBestCheckpoint(
  ctx: ContextOf<"trainEnd">,
  name: string,
  tracker: Tracker,
  was: string,
): Promise<void> {
  // After a resume from an older checkpoint, newer ones of the earlier run may still be there.
  const saved = ctx.checkpoints.list().filter(({ step }) => step <= ctx.step);
  const values = saved.map(({ metrics }) => monitorValue(metrics, tracker.monitor));
  // By step first: manifests lack metrics of single steps, and a later checkpoint may have the same value.
  const exact = saved.findLastIndex(({ step }) => step === tracker.state.bestStep);
  const at = exact >= 0 ? exact : tracker.bestOf(values);
  const checkpoint = saved[at];
  if (!checkpoint) {
    const none = saved.length === 0 ? "there is no checkpoint" : `no checkpoint has \`${tracker.monitor}\``;
    return warnUser(ctx.config, `${name}: ${was}, but ${none}: the parameters stay those of the last step.`);
  }
  const weights = await ctx.checkpoints.weights(checkpoint.name);
  // The checkpoint's buffers are left out: those of the last step stay.
  const params = Object.fromEntries(ctx.params.names.map((each) => [each, weights[each]!]));
  const from =
    exact >= 0 ? "" : `, and was not saved; of what was, ${checkpoint.name} is best with ${brief(values[at]!)}`;
  ctx.setParams(params, `${was}${from || ` (${checkpoint.name})`}`);
}
