// Ends the run when what it watches no longer improves, and can put the best parameters back.
import { printLine, warnUser } from "../../platform/print.ts";
import type { Cadence } from "../../core/cadence.ts";
import type { ContextOf } from "../../core/context.types.ts";
import type { DeviceTensors } from "../../core/inspection.ts";
import { component } from "../../core/component.ts";
import { OptionError } from "../../core/errors.ts";
import type { Hook } from "../../core/hook.ts";
import type { HostTensors } from "../../core/model.ts";
import { evalLoaderNames, monitorValue, unknownMonitor } from "../../core/names.ts";
import { checkStopOptions, EARLY_STOPPING_CHECKS, makeTrackers } from "./options.ts";
import { type Tracker, type TrackerState, brief } from "./tracker.ts";

/** One value for all monitored metrics, or one for each by its name. */
export type PerMonitor<T> = T | Readonly<Record<string, T>>;

/** Decides from what each metric says by itself: would it stop? */
export type CombineFn = (
  wouldStop: Readonly<Record<string, boolean>>,
  metrics: Readonly<Record<string, number>>,
) => boolean;

/** Options of `earlyStopping`. */
export interface EarlyStoppingOptions {
  readonly name?: string;
  /** One metric or several. Default `val/loss`. On steps `loss` is the step's own, `train/loss` the epoch's mean so far. */
  readonly monitor?: string | readonly string[];
  /** With several metrics: stop when any says so (the default), when all do, or as a function decides. */
  readonly combine?: "any" | "all" | CombineFn;
  /** Default `auto`: more is better for accuracies, scores and the like, less for the rest. */
  readonly mode?: PerMonitor<"min" | "max" | "auto">;
  /** How long without improvement: a number of checks, `"3 epochs"` or `"500 steps"`. Default 3 checks. */
  readonly patience?: number | string;
  /** What counts as better: by more than this, or by more than a share such as `"1%"` of the best. Default 0. */
  readonly minDelta?: PerMonitor<number | string>;
  /** Only what is better than this counts as an improvement. */
  readonly baseline?: PerMonitor<number>;
  /** Good enough: stops at once when reached. */
  readonly stoppingThreshold?: PerMonitor<number>;
  /** Stops at once when it gets worse than this. */
  readonly divergenceThreshold?: PerMonitor<number>;
  /** Stops at once when a metric is NaN or infinite. Default true. */
  readonly checkFinite?: boolean;
  /** Looks at nothing before this much of the run has passed: `"2 epochs"`, `"500 steps"`, `"10%"`. */
  readonly startFrom?: number | string;
  /** Default `eval`; `epoch` when it watches `train/…` only. */
  readonly checkOn?: "eval" | "epoch" | "step";
  /** Which of these occasions are checks, for a metric that is not there each time. */
  readonly every?: Cadence;
  /** A metric that is not there is an error (the default), or just no check, and a warning at the end if it never came. */
  readonly strict?: boolean;
  /** Says at each check how things stand. */
  readonly verbose?: boolean;
  /**
   * Puts the parameters of the best check (of the first metric) back at the end, whoever ended the run. They are kept in
   * the engine's memory (`true`, `memory`), or come from the best of the run's checkpoints (`checkpoint`). Default false.
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
  /** Metrics that have come in this call of `fit`. */
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
      throw new OptionError(`${message} If it comes only now and then, say \`strict: false\`.`);
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
      ctx.stop(`${name}: ${why || "its `combine` function says so"}`);
    }
  }

  /** Without `strict` a misspelt name would otherwise never be noticed. */
  function warnOfMissing({ config, metrics }: ContextOf<"trainEnd">): void {
    const missing = trackers.find(({ monitor, state }) => state.best === null && !come.has(monitor));
    if (missing) warnUser(config, `${unknownMonitor(name, missing.monitor, metrics).message} So it never checked it.`);
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
          `${name}: it checks \`${monitors.join("`, `")}\` after evaluations, but there are none: give the trainer \`eval\`, or say \`checkOn: "epoch"\`.`,
        );
      }
      if (restoreBest === "checkpoint" && !ctx.checkpoints.enabled) {
        throw new OptionError(
          `${name}: \`restoreBest: "checkpoint"\` needs a place for checkpoints: give the trainer \`runDir\` or a \`store\`, or say \`restoreBest: "memory"\`.`,
        );
      }
      // A run that starts, or starts over, owes nothing to what an earlier one has seen.
      if (ctx.step > 0) return;
      drop();
      for (const tracker of trackers) tracker.reset();
    },
    ...(checkOn === "eval" && {
      onEvalEnd(ctx: ContextOf<"evalEnd">) {
        // With several loaders the check comes after the last: then every metric is of this evaluation.
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
      // The parameters of the best step are in place already when it is the last one.
      if (kept !== undefined && keptStep !== ctx.step) ctx.setParams(kept, was);
    },
    state() {
      const states = Object.fromEntries(trackers.map((each) => [each.monitor, { ...each.state }]));
      const json = { trackers: states, keptStep };
      // As they are, not read: a checkpoint holds them until they are written.
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
 * Puts the weights of the best check's checkpoint in place; when that check was not saved, those of the best that was.
 * `was` says what the best check was.
 */
async function restoreBestCheckpoint(
  ctx: ContextOf<"trainEnd">,
  name: string,
  tracker: Tracker,
  was: string,
): Promise<void> {
  // Of a run that was resumed from an older checkpoint, newer ones may still lie there.
  const saved = ctx.checkpoints.list().filter(({ step }) => step <= ctx.step);
  const values = saved.map(({ metrics }) => monitorValue(metrics, tracker.monitor));
  // By its step first: a metric of the steps alone is not in a manifest, and one that was saved later may be the same.
  const exact = saved.findLastIndex(({ step }) => step === tracker.state.bestStep);
  const at = exact >= 0 ? exact : tracker.bestOf(values);
  const checkpoint = saved[at];
  if (!checkpoint) {
    const none = saved.length === 0 ? "there is no checkpoint" : `no checkpoint has \`${tracker.monitor}\``;
    return warnUser(ctx.config, `${name}: ${was}, but ${none}: the parameters stay those of the last step.`);
  }
  const weights = await ctx.checkpoints.weights(checkpoint.name);
  // They come with buffers, which stay those of the last step.
  const params = Object.fromEntries(ctx.params.names.map((each) => [each, weights[each]!]));
  const from =
    exact >= 0 ? "" : `, and was not saved; of what was, ${checkpoint.name} is best with ${brief(values[at]!)}`;
  ctx.setParams(params, `${was}${from || ` (${checkpoint.name})`}`);
}
