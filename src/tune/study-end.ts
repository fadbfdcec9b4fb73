// Why a study ends: a stop request, a budget that is used up, or trials that keep failing alike.
import type { TrialFailure } from "../core/outer-events.ts";
import { StudyError } from "./study-errors.ts";
import type { StudyPlan } from "./study-options.ts";
import type { StudyStore } from "./study-store.ts";

/** Why a study ended, or must. */
export interface Ending {
  readonly status: "completed" | "stopped" | "interrupted" | "error";
  readonly reason: string;
  readonly requestedBy: string;
}

type Budget = StudyPlan["budget"];

/** The budget of seconds or steps that is used up. The controller counts trials itself. */
export function spent({ seconds = Infinity, steps = Infinity }: Budget, store: StudyStore): Ending | undefined {
  if (store.elapsed >= seconds) return { status: "completed", reason: `${seconds} seconds`, requestedBy: "" };
  if (store.state.steps >= steps) return { status: "completed", reason: `${steps} steps`, requestedBy: "" };
  return undefined;
}

/** Calls `wake` when the seconds are used up; returns a function that cancels it. */
export function wakeWhenSpent({ seconds }: Budget, store: StudyStore, wake: () => void): () => void {
  if (seconds === undefined) return () => undefined;
  let timer: ReturnType<typeof setTimeout>;
  const look = (): void => {
    const left = seconds - store.elapsed;
    if (left <= 0) return wake();
    // Timers may fire a little early, and take at most 2³¹ − 1 ms.
    timer = setTimeout(look, Math.min(left * 1000 + 1, 2 ** 31 - 1));
  };
  look();
  return () => clearTimeout(timer);
}

/** Counts consecutive failures with the same error: then the study is at fault, and more trials would not help. */
export class FailureStreak {
  readonly #limit: number;
  #message = "";
  #count = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Returns the error that ends the study once the limit is reached. */
  add({ name, message: text }: TrialFailure, cause: unknown): StudyError | undefined {
    // Trial numbers, paths and times differ from trial to trial.
    const message = text.replaceAll(/\d+/g, "#");
    this.#count = this.#message === message ? this.#count + 1 : 1;
    this.#message = message;
    if (this.#count < this.#limit) return undefined;
    const many = this.#limit === 1 ? "a trial has failed" : `${this.#limit} trials in a row have failed alike`;
    return new StudyError(`Study: ${many}, so it ends here: ${name}: ${text}`, { cause });
  }

  reset(): void {
    this.#message = "";
    this.#count = 0;
  }
}
