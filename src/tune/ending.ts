// Why a study ends: what it was asked to stop for, or a budget that is spent.
import type { StudyStore } from "./store.ts";
import type { StudyPlan } from "./study-options.ts";

/** Why a study ended, or must. */
export interface Ending {
  readonly status: "completed" | "stopped" | "interrupted" | "error";
  readonly reason: string;
  readonly requestedBy: string;
}

type Budget = StudyPlan["budget"];

/** The budget that is used up; that of trials ends a study by itself. */
export function spent({ seconds = Infinity, steps = Infinity }: Budget, store: StudyStore): Ending | undefined {
  if (store.elapsed >= seconds) return { status: "completed", reason: `${seconds} seconds`, requestedBy: "" };
  if (store.state.steps >= steps) return { status: "completed", reason: `${steps} steps`, requestedBy: "" };
  return undefined;
}

/** Calls `wake` when the seconds are used up; returns the undo. */
export function wakeWhenSpent({ seconds }: Budget, store: StudyStore, wake: () => void): () => void {
  if (seconds === undefined) return () => undefined;
  let timer: ReturnType<typeof setTimeout>;
  const look = (): void => {
    const left = seconds - store.elapsed;
    if (left <= 0) return wake();
    // A timer may be a little early, and counts no further than this.
    timer = setTimeout(look, Math.min(left * 1000 + 1, 2 ** 31 - 1));
  };
  look();
  return () => clearTimeout(timer);
}
