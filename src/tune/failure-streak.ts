// Trials that fail alike, one after another: what is wrong is the study, and more of them would not help.
import type { TrialFailure } from "../core/tune.types.ts";
import { StudyError } from "./study-error.ts";

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
