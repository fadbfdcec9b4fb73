// The options of modelCheckpoint: their checks, and the plan of when to save and what to keep.
import { WEIGHT_FORMATS } from "../../core/saving.ts";
import { NameTemplate } from "../../checkpoint/name-template.ts";
import type { RetentionRules } from "../../checkpoint/retention.ts";
import { boundaryEvent, checkCadence, withUnit, type Cadence } from "../../core/cadence.ts";
import { OptionError } from "../../core/errors.ts";
import { directionOf } from "../../core/names.ts";
import { is } from "../../core/options.ts";
import type { ModelCheckpointOptions } from "./model-checkpoint.ts";

export const MODEL_CHECKPOINT_CHECKS = {
  name: is.name,
  every: is.cadence,
  monitor: is.name,
  mode: is.oneOf("min", "max", "auto"),
  saveTopK: is.wholeFrom(-1),
  saveLast: is.or(is.boolean, is.wholeFrom(0)),
  milestones: is.cadence,
  saveTotalLimit: is.wholeFrom(1),
  saveOnTrainEpochEnd: is.boolean,
  filename: is.name,
  autoInsertMetricName: is.boolean,
  format: is.oneOf(...WEIGHT_FORMATS),
  verify: is.boolean,
  atEnd: is.boolean,
  maxFailures: is.wholeFrom(1),
  strict: is.boolean,
};

/** A cadence and the boundary at which it is asked: epoch ends for whole epochs, otherwise after steps. */
export interface Occasions {
  readonly cadence: Cadence;
  readonly event: "stepEnd" | "epochEnd";
}

export interface CheckpointPlan {
  readonly name: string;
  readonly every: Occasions | undefined;
  readonly milestones: Occasions | undefined;
  readonly monitor: string | undefined;
  /** Are new checkpoints kept even when they are not among the best? Otherwise these are not written. */
  readonly keepsNewest: boolean;
  readonly rules: RetentionRules;
  readonly template: NameTemplate | undefined;
}

export function checkpointPlan(options: ModelCheckpointOptions): CheckpointPlan {
  const { name = "modelCheckpoint" } = options;
  const { every, milestones, monitor, filename, saveTopK, saveTotalLimit, saveLast = true, atEnd = true } = options;
  if (every !== undefined) checkCadence(`${name}: every`, every);
  if (milestones !== undefined) checkCadence(`${name}: milestones`, milestones);
  if (monitor === undefined) checkUnmonitored(name, options);
  if (!atEnd && typeof every === "object" && every.atEnd)
    throw new OptionError(`${name}: \`every.atEnd\` asks for a save at the end, but \`atEnd: false\` forbids it.`);
  if (typeof milestones === "object" && milestones.atEnd)
    throw new OptionError(
      `${name}: \`milestones\` has no \`atEnd\`: the hook's own option \`atEnd\` saves at the end.`,
    );
  if (filename === undefined && options.autoInsertMetricName !== undefined)
    throw new OptionError(`${name}: \`autoInsertMetricName\` needs \`filename\`.`);

  const newest = Number(saveLast);
  const keepsNewest = newest > 0 || (monitor === undefined && (saveTotalLimit !== undefined || saveTopK === -1));
  // With a monitor, the default is a save with each new value.
  const regular = every ?? (monitor === undefined && keepsNewest ? "1 epoch" : undefined);
  return {
    name,
    every: regular === undefined ? undefined : occasions(regular),
    milestones: milestones === undefined ? undefined : occasions(milestones),
    monitor,
    keepsNewest,
    rules: rulesOf(options, newest),
    template: filename === undefined ? undefined : template(name, filename, options),
  };
}

/** Rejects options that need a metric to compare by. */
function checkUnmonitored(name: string, options: ModelCheckpointOptions): void {
  const { every, mode, saveTopK, saveLast = true, saveTotalLimit, saveOnTrainEpochEnd } = options;
  const wrong = (key: string, wayOut: string): OptionError =>
    new OptionError(`${name}: \`${key}\` compares checkpoints by a metric: give \`monitor\`${wayOut}.`);
  if (mode !== undefined) throw wrong("mode", "");
  if (saveOnTrainEpochEnd !== undefined) throw wrong("saveOnTrainEpochEnd", ', or set `every: "1 epoch"`');
  if (saveTopK !== undefined && saveTopK > 0) throw wrong("saveTopK", `, or set \`saveLast: ${saveTopK}\``);
  if (every === undefined || saveTopK === -1 || saveTotalLimit !== undefined || Number(saveLast) > 0) return;
  throw new OptionError(
    `${name}: \`every\` asks for checkpoints, but no rule would keep them: set \`saveLast\`, \`saveTotalLimit\`, or \`saveTopK: -1\` for all.`,
  );
}

function rulesOf(options: ModelCheckpointOptions, saveLast: number): RetentionRules {
  const { monitor, mode = "auto", saveTotalLimit } = options;
  const saveTopK = options.saveTopK ?? (monitor !== undefined && saveTotalLimit === undefined ? 1 : undefined);
  return {
    saveLast,
    ...(monitor !== undefined && { monitor, mode: mode === "auto" ? directionOf(monitor) : mode }),
    ...(saveTopK !== undefined && { saveTopK }),
    ...(saveTotalLimit !== undefined && { saveTotalLimit }),
  };
}

function template(name: string, filename: string, { autoInsertMetricName }: ModelCheckpointOptions): NameTemplate {
  try {
    return new NameTemplate(filename, autoInsertMetricName === undefined ? {} : { autoInsertMetricName });
  } catch (error) {
    throw new OptionError(`${name}: filename: ${(error as Error).message}`, { cause: error });
  }
}

/** Bare numbers get their unit here: the same cadence is also asked at evaluations, where they would count those. */
function occasions(given: Cadence): Occasions {
  const event = boundaryEvent("every", given);
  return { cadence: withUnit(given, event === "epochEnd" ? "epochs" : "steps"), event };
}
