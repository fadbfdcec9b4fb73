// Why a study ends: what it was asked to stop for, or a budget that is spent.
import type { StudyStore } from "./study-store.ts";
import type { StudyPlan } from "./study-options.ts";
import type { TrialFailure } from "../core/outer-events.ts";
import { StudyError } from "./study-errors.ts";

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

// Trials that fail alike, one after another: what is wrong is the study, and more of them would not help.

export class FailureStreak {
  readonly #most: number;
  #message = "";
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** The error that ends the study, once there are too many. */
  add({ name, message: text }: TrialFailure, cause: unknown): StudyError | undefined {
    // Numbers of trials, paths and times differ.
    const message = text.replaceAll(/\d+/g, "#");
    this.#count = this.#message === message ? this.#count + 1 : 1;
    this.#message = message;
    if (this.#count < this.#most) return undefined;
    const many = this.#most === 1 ? "a trial has failed" : `${this.#most} trials in a row have failed alike`;
    return new StudyError(`Study: ${many}, so it ends here: ${name}: ${text}`, { cause });
  }

  /** A trial went well. */
  end(): void {
    this.#message = "";
    this.#count = 0;
  }
}
