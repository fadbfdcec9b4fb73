// modelCheckpoint: saves checkpoints at intervals or when a metric improves, and removes old ones.
import type { Cadence } from "../../core/cadence.ts";
import type { ContextOf } from "../../core/context.ts";
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
  /** Default `modelCheckpoint`. A hook only removes checkpoints saved under its own name. */
  readonly name?: string;
  /**
   * How often to save: `"500 steps"` or 500, `"2 epochs"`, `"10 min"`, `{ at: [100, 1000] }`. Default: every epoch; with
   * `monitor`, whenever the metric has a new value. With both, the first new value after each due time is compared.
   */
  readonly every?: Cadence;
  /** The metric that decides which checkpoints are best, such as `val/loss`. */
  readonly monitor?: string;
  /** Whether lower or higher is better. Default `auto`: higher for accuracies, scores and the like, lower otherwise. */
  readonly mode?: "min" | "max" | "auto";
  /** How many of the best to keep: -1 all, 0 none. Default 1, or `saveTotalLimit`. Without `monitor` only -1 and 0 are valid. */
  readonly saveTopK?: number;
  /** How many of the newest to keep in addition to the best; true is 1. Default true. */
  readonly saveLast?: boolean | number;
  /** Additional checkpoints that are never removed: `"10 epochs"`, or a number of steps. */
  readonly milestones?: Cadence;
  /** The most checkpoints to keep: the best with `monitor`, otherwise the newest. `saveLast` and milestones are not counted. */
  readonly saveTotalLimit?: number;
  /** Compare at the end of the epoch instead of after the evaluation. Default: true for `train/…` metrics and without `eval`. */
  readonly saveOnTrainEpochEnd?: boolean;
  /** `epoch_{epoch}_loss_{val/loss:.2f}`. Default `step-000500`. A name that is taken gets the step appended. */
  readonly filename?: string;
  /** `{val/loss:.2f}` becomes `val_loss=0.31` instead of `0.31`. Default true. */
  readonly autoInsertMetricName?: boolean;
  /** `pt` writes model and optimizer in PyTorch's format. Default `safetensors`. */
  readonly format?: WeightsFormatName;
  /** Reads a checkpoint back before older ones are removed; training does not wait for it. Default true. */
  readonly verify?: boolean;
  /** Also saves when the run ends: the last state, or after an error or a signal the last consistent one. Default true. */
  readonly atEnd?: boolean;
  /** A failed save is retried at the next boundary; this many consecutive failures end the run. Default 3. */
  readonly maxFailures?: number;
  /** True (default): a missing metric in `monitor` or `filename` is an error. False: nothing is compared, and a metric that never came is a warning at the end. */
  readonly strict?: boolean;
}

/** The best checkpoint of a modelCheckpoint with `monitor`. */
export interface BestCheckpoint {
  readonly name: string;
  /** Its directory, for stores on a disk. */
  readonly dir?: string;
  readonly metric: string;
  readonly value: number;
  readonly step: number;
}

/** Where other hooks find the best checkpoint so far. With several monitoring hooks, that of the one that saved last. */
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
  /** When the metric is compared, and whether it has a new value then without an evaluation. */
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

  /** Saves that do not depend on the metric. The boundary's evaluation precedes the save, so its name has current values. */
  function askIfDue(ctx: SaveContext, event: Occasions["event"]): void {
    if (due(ctx, milestones, event)) ask(ctx, "milestone");
    else if (keepsNewest && due(ctx, every, event)) ask(ctx, "interval");
  }

  /** The metric has a new value, which counts if a save has become due since the last one. */
  function compare(ctx: SaveContext): void {
    const value = monitorValue(ctx.metrics, monitor!);
    if (value === undefined) {
      if (!strict) return;
      const { message } = unknownMonitor(name, monitor!, ctx.metrics);
      throw new OptionError(`${message} If it is not computed every time, set \`strict: false\`.`);
    }
    came = true;
    record.fresh(ctx.step);
    if (every && !ctx.due(every.cadence)) return;
    if (record.isAmongBest(checkpoints.list(), ctx.step, value)) ask(ctx, "best");
    else if (keepsNewest) ask(ctx, "last");
  }

  /** Without `strict`, nothing else would reveal a misspelt name. */
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
      // A new run does not continue an earlier one's record.
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
      // An epoch interrupted by the end of the run is left to `atEnd`; a skipped epoch counts as finished.
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
        // The last save of a run is worth having under any name.
        if (problem === undefined || !strict || isLast(saving.reason)) return;
        const { message } = problem as Error;
        throw new OptionError(`${name}: ${message} If it is computed only later, set \`strict: false\`.`, {
          cause: problem,
        });
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
      // The run is ending because of these failures: do not report the failed emergency save too.
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
