// Where a run stands, as plain data: what state.json keeps.
import type { ClockState } from "../../core/counters.ts";
import type { Json } from "../../core/options.ts";
import type { HistoryEntry, Run } from "../../core/run.ts";
import type { LoaderSet } from "../../data/loader-set.ts";
import { type OptimizerSet, type OptimizerState, optimizerState } from "../optimizers.ts";
import type { StepState } from "../step.ts";
import type { SavedHook } from "./hook-states.ts";

/** What an open step changes: captured when the state is whole, so that a run that fails in mid-step can replay it. */
export interface Position {
  readonly clock: ClockState;
  readonly epochOpen: boolean;
  readonly epochEntered: boolean;
  readonly batchIdx: number;
  readonly accumulate: number;
  readonly data: Json;
  readonly optimizers: readonly OptimizerState[];
}

/** Raised when older readers would misread what newer writers write. */
export const STATE_SCHEMA = 1;

export interface SavedState {
  readonly schema: number;
  readonly position: Position;
  /** Options of then, to tell what is different now. */
  readonly options: { readonly accumulate: number; readonly seed: number; readonly engine: string };
  readonly step: StepState;
  /** Of the last step: an epoch's end that follows still shows it. */
  readonly loss: number | null;
  readonly gradNorm: number | null;
  readonly skipped: boolean;
  readonly evaluatedAt: number;
  /** Checkpoints of before there was such a thing have none. */
  readonly evalOwed?: boolean;
  readonly paramsVersion: number;
  readonly rollbacks: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly unlogged: Readonly<Record<string, number>>;
  readonly history: readonly HistoryEntry[];
  readonly hooks: Readonly<Record<string, SavedHook>>;
}

export function positionOf(run: Run, feed: LoaderSet, { slots }: OptimizerSet): Position {
  const { epochOpen, epochEntered, batchIdx, accumulate } = run;
  return {
    clock: run.clock.state(),
    epochOpen,
    epochEntered,
    batchIdx,
    accumulate,
    data: feed.state(),
    optimizers: slots.map(optimizerState),
  };
}

/** The parts of the state that are the run's own. */
export function runFields(
  run: Run,
): Pick<SavedState, "skipped" | "evaluatedAt" | "evalOwed" | "rollbacks" | "metrics" | "unlogged" | "history"> {
  const { skipped, evaluatedAt, evalOwed, rollbacks, history } = run;
  const metrics = { ...run.log.metrics };
  const unlogged = { ...run.log.unlogged };
  return { skipped, evaluatedAt, evalOwed, rollbacks, metrics, unlogged, history: [...history] };
}

/** Puts the run where it stood; what its options ask for now holds over what they asked for then. */
export function loadRun(run: Run, saved: SavedState, accumulateNow: number): void {
  const { position, loss, skipped, evaluatedAt, evalOwed = false, rollbacks, metrics, unlogged, history } = saved;
  const { clock, epochOpen, epochEntered, batchIdx, accumulate } = position;
  run.clock.load(clock);
  Object.assign(run, { epochOpen, epochEntered, batchIdx, skipped, evaluatedAt, evalOwed, rollbacks });
  run.log.load(metrics, unlogged);
  run.stepLoss = loss ?? undefined;
  run.stepNorm = saved.gradNorm ?? undefined;
  run.accumulate = accumulateNow === saved.options.accumulate ? accumulate : accumulateNow;
  run.history.splice(0, run.history.length, ...history);
}
