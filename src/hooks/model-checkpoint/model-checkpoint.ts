// modelCheckpoint: when to save, under which name, and what of it to keep.
import type { Cadence } from "../../core/cadence.ts";
import type { ContextOf } from "../../core/context.types.ts";
import { component } from "../../core/component.ts";
import { CheckpointError, OptionError } from "../../core/errors.ts";
import type { Hook } from "../../core/hook.ts";
import { evalLoaderNames, monitorValue, unknownMonitor } from "../../core/names.ts";
import type { WeightsFormatName } from "../../core/saving.ts";
import { sharedKey } from "../../core/shared.ts";
import { CheckpointNames } from "./names.ts";
import { checkpointPlan, MODEL_CHECKPOINT_CHECKS, type Occasions } from "./options.ts";
import { CheckpointRecord } from "./record.ts";
import { warnUser } from "../../platform/print.ts";

/** Options of `modelCheckpoint`. */
export interface ModelCheckpointOptions {
  /** Default `modelCheckpoint`. Each name has its own checkpoints: hooks of other names never remove them. */
  readonly name?: string;
  /**
   * How often: `"500 steps"` or 500, `"2 epochs"`, `"10 min"`, `{ at: [100, 1000] }`. Default: every epoch; with
   * `monitor`, whenever the metric is new. With both, the first new value after each occasion is compared.
   */
  readonly every?: Cadence;
  /** The metric by which the best are chosen, such as `val/loss`. */
  readonly monitor?: string;
  /** Default `auto`: more is better for accuracies, scores and the like, less for the rest. */
  readonly mode?: "min" | "max" | "auto";
  /** How many of the best are kept: -1 all, 0 none. Default 1, or `saveTotalLimit`. Needs `monitor`; without, only -1 and 0. */
  readonly saveTopK?: number;
  /** How many of the newest are kept beside the best; true is 1. Default true. */
  readonly saveLast?: boolean | number;
  /** Saved too, and kept for ever: `"10 epochs"`, or a number of steps. */
  readonly milestones?: Cadence;
  /** Never more than so many: the best with `monitor`, else the newest. `saveLast` and milestones come on top. */
  readonly saveTotalLimit?: number;
  /** Compare at the epoch's end instead of right after the evaluation. Default: for `train/…` metrics, and without `eval`. */
  readonly saveOnTrainEpochEnd?: boolean;
  /** `epoch_{epoch}_loss_{val/loss:.2f}`. Default `step-000500`. A name that is taken gets the step behind it. */
  readonly filename?: string;
  /** `{val/loss:.2f}` becomes `val_loss=0.31` instead of `0.31`. Default true. */
  readonly autoInsertMetricName?: boolean;
  /** `pt` keeps model and optimizer as PyTorch does. Default `safetensors`. */
  readonly format?: WeightsFormatName;
  /** Reads a checkpoint back before it counts as saved and older ones go; the steps do not wait for it. Default true. */
  readonly verify?: boolean;
  /** Also saves how the run ends: the last state, or after an error or a signal the last that is whole. Default true. */
  readonly atEnd?: boolean;
  /** A save that fails is tried again at the next boundary; so many failures in a row end the run. Default 3. */
  readonly maxFailures?: number;
  /** A `monitor`, or a metric in `filename`, that is not there is an error (the default), or just no reason to save, and a warning at the end if it never came. */
  readonly strict?: boolean;
}

/** The best of a modelCheckpoint with `monitor`. */
export interface BestCheckpoint {
  readonly name: string;
  /** Where it lies, for stores on a disk. */
  readonly dir?: string;
  readonly metric: string;
  readonly value: number;
  readonly step: number;
}

/** Where other hooks find the best checkpoint so far; of several hooks with a `monitor`, what the last to save knows. */
export const bestCheckpoint = sharedKey<BestCheckpoint>("bestCheckpoint");

type SaveContext = ContextOf<"stepEnd"> | ContextOf<"epochEnd"> | ContextOf<"evalEnd">;
type Checkpoints = ContextOf<"init">["checkpoints"];
type SaveOptions = NonNullable<Parameters<ContextOf<"stepEnd">["requestSave"]>[1]>;

/**
 * @example
 * modelCheckpoint({ monitor: "val/accuracy", saveTopK: 3 })
 * modelCheckpoint({ every: "10 min", saveLast: 2, milestones: "10 epochs" })
 */
export const modelCheckpoint = /* @__PURE__ */ component(
  { kind: "hook", name: "modelCheckpoint", takes: () => ({ options: MODEL_CHECKPOINT_CHECKS }) },
  makeModelCheckpoint,
);

function makeModelCheckpoint(options: ModelCheckpointOptions = {}): Hook {
  const plan = checkpointPlan(options);
  const { name, every, milestones, monitor, keepsNewest } = plan;
  const { format = "safetensors", verify = true, atEnd = true, maxFailures = 3, strict = true } = options;
  const names = new CheckpointNames(name, plan.template);
  const record = new CheckpointRecord(plan);
  let checkpoints: Checkpoints;
  /** When the metric is compared, and whether it is new then without an evaluation. */
  let compareAt: "evalEnd" | "epochEnd" = "evalEnd";
  let alwaysNew = false;
  let failures = 0;
  /** Has the metric had a value in this run? */
  let came = false;

  const saveOptions: SaveOptions = {
    name: (moment) => names.nameFor(moment, checkpoints.list(), record.released),
    format,
    verify,
  };

  const due = (ctx: SaveContext, occasions: Occasions | undefined, event: Occasions["event"]): boolean =>
    occasions?.event === event && ctx.due(occasions.cadence);

  function ask(ctx: SaveContext, reason: "best" | "last" | "interval" | "milestone"): void {
    record.asked(ctx.step, reason === "milestone");
    ctx.requestSave(reason, saveOptions);
  }

  /** What is due whatever the metric says. The boundary's evaluation comes before the save, so its name has fresh values. */
  function askIfDue(ctx: SaveContext, event: Occasions["event"]): void {
    if (due(ctx, milestones, event)) ask(ctx, "milestone");
    else if (keepsNewest && due(ctx, every, event)) ask(ctx, "interval");
  }

  /** The metric is new: it counts if an occasion has come since the last time. */
  function compare(ctx: SaveContext): void {
    const value = monitorValue(ctx.metrics, monitor!);
    if (value === undefined) {
      if (!strict) return;
      const { message } = unknownMonitor(name, monitor!, ctx.metrics);
      throw new OptionError(`${message} If it comes only now and then, say \`strict: false\`.`);
    }
    came = true;
    record.fresh(ctx.step);
    if (every && !ctx.due(every.cadence)) return;
    if (record.isAmongBest(checkpoints.list(), ctx.step, value)) ask(ctx, "best");
    else if (keepsNewest) ask(ctx, "last");
  }

  /** Without `strict` a misspelt name would otherwise never be noticed. */
  function warnOfMissing({ config, metrics, status }: ContextOf<"trainEnd">): void {
    if (came || record.best || status === "error") return;
    const { message } = unknownMonitor(name, monitor!, metrics);
    warnUser(config, `${message} It had no value whenever checkpoints were compared, so none was chosen as the best.`);
  }

  function share({ shared }: Pick<ContextOf<"init">, "shared">): void {
    if (record.best) shared.set(bestCheckpoint, record.best);
  }

  function begin({ config }: ContextOf<"trainBegin">): void {
    if (config.store === undefined && config.runDir === undefined) {
      throw new OptionError(
        `${name}: there is no place for checkpoints: give the trainer \`runDir: "runs/digits"\`, or a \`store\` such as memoryStore().`,
      );
    }
    const evaluates = config.eval !== undefined;
    const { saveOnTrainEpochEnd: atEpochEnd } = options;
    if (atEpochEnd === false && !evaluates && strict) {
      throw new OptionError(
        `${name}: \`saveOnTrainEpochEnd: false\` compares after evaluations, but there are none: give the trainer \`eval\`.`,
      );
    }
    alwaysNew = !evaluates || (monitor?.startsWith("train/") ?? false);
    compareAt = (atEpochEnd ?? alwaysNew) ? "epochEnd" : "evalEnd";
  }

  return {
    name,
    stage: "checkpoint",
    ranks: "main",
    ...(strict && monitor !== undefined && { monitors: [monitor] }),
    onTrainBegin(ctx) {
      begin(ctx);
      ({ checkpoints } = ctx);
      failures = 0;
      came = false;
      // A run that starts, or starts over, owes nothing to what an earlier one has seen.
      if (ctx.step === 0) {
        record.reset();
        ctx.shared.delete(bestCheckpoint);
      }
      share(ctx);
      if (atEnd) ctx.requestSave("final", { ...saveOptions, at: "end" });
    },
    ...([every, milestones].some((occasions) => occasions?.event === "stepEnd") && {
      onStepEnd: (ctx: ContextOf<"stepEnd">) => askIfDue(ctx, "stepEnd"),
    }),
    ...(monitor !== undefined && {
      onEvalEnd(ctx: ContextOf<"evalEnd">) {
        // Before the first step there is nothing to save.
        if (ctx.phase !== "eval" || ctx.partial || ctx.step === 0) return;
        if (ctx.loaderName !== evalLoaderNames(ctx.config.eval).at(-1)) return;
        if (compareAt === "evalEnd") compare(ctx);
        else record.unread = true;
      },
    }),
    onEpochEnd(ctx) {
      // An epoch that the run's end cuts short is for `atEnd`; one that a hook skips is over.
      if (ctx.partial && (ctx.status !== "training" || ctx.step === ctx.totalSteps)) return;
      if (monitor !== undefined && compareAt === "epochEnd" && !ctx.partial && (alwaysNew || record.unread)) {
        record.unread = false;
        compare(ctx);
      }
      askIfDue(ctx, "epochEnd");
    },
    ...(plan.template && {
      onBeforeSave({ saving }: ContextOf<"beforeSave">) {
        const { problem } = names;
        names.problem = undefined;
        // The last save of a run is worth more than its name.
        if (problem === undefined || !strict || isLast(saving.reason)) return;
        const { message } = problem as Error;
        throw new OptionError(`${name}: ${message} If it comes only later, say \`strict: false\`.`, { cause: problem });
      },
    }),
    onAfterSave(ctx) {
      const { saved } = ctx;
      if (!saved.by?.includes(name)) return;
      failures = 0;
      const goes = record.saved(saved, checkpoints.list(), ctx.step);
      if (goes.length > 0) checkpoints.release(goes);
      share(ctx);
    },
    onSaveError(ctx) {
      const { by, reason, error, name: failed } = ctx.failedSave;
      if (!by.includes(name)) return;
      failures++;
      // The run is ending because of it: the emergency save that failed too is no news.
      if (failures > maxFailures) return;
      if (failures === maxFailures) {
        const times = failures === 1 ? "" : `, ${failures} times in a row`;
        throw new CheckpointError(
          failed,
          `it could not be saved${times}: ${error.message.replace(/\.$/, "")}`,
          "Earlier checkpoints are as they were; `maxFailures` says how many failures end the run.",
          { cause: error },
        );
      }
      // After an error there is no next boundary.
      if (ctx.status !== "error") ctx.requestSave(reason, saveOptions);
    },
    ...(!strict && monitor !== undefined && { onTrainEnd: warnOfMissing }),
    onAfterLoad(ctx) {
      const { why, checkpoint } = ctx.loaded;
      if (why === "rollback") record.rolledBack(ctx.step);
      else record.resumed(checkpoint, ctx.checkpoints.list(), ctx.step);
    },
    state: () => record.state(),
    load: (state) => record.load(state),
  };
}

const isLast = (reason: string): boolean => reason === "final" || reason === "emergency";
