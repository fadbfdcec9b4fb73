// The state of a run as plain data: what state.json keeps, taken from a run and given back to one.
import type { ClockState } from "../../core/loop/counters.ts";
import type { Json } from "../../core/options.ts";
import type { HookRegistry } from "../../core/registry/registry.ts";
import type { HistoryEntry, Run } from "../../core/loop/run.ts";
import type { LoaderSet } from "../../data/loader-set.ts";
import type { Session } from "../session.ts";
import { type OptimizerSet, optimizerState, type OptimizerState } from "../optimizers.ts";
import type { StepState } from "../step.ts";
import type { ResumeSource } from "./restore.ts";

/** What saving needs of a trainer. */
export interface TrainingState {
  readonly run: Run;
  readonly hooks: HookRegistry;
  readonly feed: LoaderSet;
  readonly options: { readonly accumulate: number; readonly seed: number };
  /** In a process group the main rank calls `find`, and every rank gets what it found. */
  share(find: () => Promise<ResumeSource | undefined>): Promise<ResumeSource | undefined>;
  session(): Session;
  optimizers(): OptimizerSet;
}

/** Raised when older versions would misread what is written. */
export const STATE_SCHEMA = 1;

/** The content of state.json. */
export interface SavedState {
  readonly schema: number;
  readonly position: Position;
  /** Options at the time, to report what has changed since. */
  readonly options: { readonly accumulate: number; readonly seed: number; readonly engine: string };
  readonly step: StepState;
  /** Of the last step: the end of an epoch that follows still shows them. */
  readonly loss: number | null;
  readonly gradNorm: number | null;
  readonly skipped: boolean;
  readonly evaluatedAt: number;
  /** Missing in checkpoints of older versions. */
  readonly evalOwed?: boolean;
  readonly paramsVersion: number;
  readonly rollbacks: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly unlogged: Readonly<Record<string, number>>;
  readonly history: readonly HistoryEntry[];
  readonly hooks: Readonly<Record<string, SavedHook>>;
}

/** What a step changes: captured between steps, so that a run that fails in the middle of one can replay it. */
export interface Position {
  readonly clock: ClockState;
  readonly epochOpen: boolean;
  readonly epochEntered: boolean;
  readonly batchIdx: number;
  readonly accumulate: number;
  readonly data: Json;
  readonly optimizers: readonly OptimizerState[];
}

/** The state of a hook: plain data here, tensors in a file. */
export interface SavedHook {
  readonly version: number;
  readonly json?: Json;
  /** The file of its tensors, where each is named `prefix` + name. */
  readonly tensors?: { readonly file: string; readonly prefix: string; readonly names: readonly string[] };
}

export function positionOf({ run, feed, optimizers }: TrainingState): Position {
  const { epochOpen, epochEntered, batchIdx, accumulate } = run;
  return {
    clock: run.clock.state(),
    epochOpen,
    epochEntered,
    batchIdx,
    accumulate,
    data: feed.state(),
    optimizers: optimizers().slots.map(optimizerState),
  };
}

/** Sets the run to the saved state. If `accumulate` was changed since, the new value is kept. */
export function loadRun(run: Run, saved: SavedState, accumulateNow: number): void {
  const {
    position,
    loss,
    skipped,
    evaluatedAt,
    evalOwed: evalPending = false,
    rollbacks,
    metrics,
    unlogged,
    history,
  } = saved;
  const { clock, epochOpen, epochEntered, batchIdx, accumulate } = position;
  run.clock.load(clock);
  Object.assign(run, { epochOpen, epochEntered, batchIdx, skipped, evaluatedAt, evalPending, rollbacks });
  run.log.load(metrics, unlogged);
  run.stepLoss = loss ?? undefined;
  run.stepNorm = saved.gradNorm ?? undefined;
  run.accumulate = accumulateNow === saved.options.accumulate ? accumulate : accumulateNow;
  run.history.splice(0, run.history.length, ...history);
}
