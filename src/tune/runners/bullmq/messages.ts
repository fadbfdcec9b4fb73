// Messages between the workers and the controller of a study. Any of them may be lost or arrive twice: a worker numbers
// its messages and repeats each until it is answered, and each is applied once.
import type { TrialFailure } from "../../../core/tune.types.ts";
import { stringifyExact } from "../../../runs/exact-json.ts";
import type { FromTrial } from "../messages.ts";
import type { TrialOutcome, Verdict } from "../runner.ts";

type WithoutId<T> = T extends unknown ? Omit<T, "id"> : never;

/** Of one attempt, in the order of `seq`, which begins with the question whether it may begin. */
export type Said =
  | { readonly kind: "take"; readonly where: string }
  | WithoutId<Extract<FromTrial, { id: number }>>
  | { readonly kind: "returned"; readonly outcome: TrialOutcome }
  | { readonly kind: "failed"; readonly error: TrialFailure }
  /** The worker gives it up, through no fault of the trial's. */
  | { readonly kind: "lost"; readonly reason: string };

export interface AttemptKey {
  readonly trial: number;
  readonly attempt: number;
}

export interface UpMessage extends AttemptKey {
  /** Of the controller that it is meant for. */
  readonly run: string;
  readonly worker: string;
  readonly seq: number;
  /** The first of its messages that is not answered yet: answers before it are not needed again. */
  readonly open: number;
  readonly said: Said;
}

/** A worker that will not work for the study, and why. */
export interface Refusal {
  readonly run: string;
  readonly refused: string;
}

export type DownMessage = AttemptKey &
  (
    | { readonly kind: "answer"; readonly seq: number; readonly verdict: Verdict }
    /** The study has nothing to do with this attempt, or not any more. */
    | { readonly kind: "gone" }
    | { readonly kind: "interrupt"; readonly reason: string }
  );

export type Up = UpMessage | Refusal;

/** Messages of one turn of the event loop are sent together. */
export class Batch<T> {
  readonly #send: (text: string) => void;
  #waiting: T[] = [];

  constructor(send: (text: string) => void) {
    this.#send = send;
  }

  add(message: T): void {
    if (this.#waiting.push(message) > 1) return;
    setImmediate(() => {
      const all = this.#waiting;
      this.#waiting = [];
      this.#send(stringifyExact(all));
    });
  }
}

export const keyOf = ({ trial, attempt }: AttemptKey): string => `${trial}-${attempt}`;
