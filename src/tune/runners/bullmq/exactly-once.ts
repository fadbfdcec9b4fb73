// Messages between the workers and the controller of a study. Any of them may be lost or arrive twice: a worker numbers
// its messages and repeats each until it is answered, and the controller applies each of them once and in order.
import type { TrialFailure } from "../../../core/outer-events.ts";
import { stringifyExact } from "../../../runs/exact-json.ts";
import { toError, TrialLost } from "../../study-errors.ts";
import type { FromTrial, TrialHost, TrialJob, TrialOutcome, Verdict } from "../runner.ts";

type WithoutId<T> = T extends unknown ? Omit<T, "id"> : never;

/** A worker's statement about an attempt. The first one asks whether it may begin. */
export type Said =
  | { readonly kind: "take"; readonly where: string }
  | WithoutId<Extract<FromTrial, { id: number }>>
  | { readonly kind: "returned"; readonly outcome: TrialOutcome }
  | { readonly kind: "failed"; readonly error: TrialFailure }
  /** The worker gives the attempt up, through no fault of the trial. */
  | { readonly kind: "lost"; readonly reason: string };

export interface AttemptKey {
  readonly trial: number;
  readonly attempt: number;
}

export interface UpMessage extends AttemptKey {
  /** Identifies the controller that it is meant for. */
  readonly run: string;
  readonly worker: string;
  readonly seq: number;
  /** The first message of the worker that is not answered yet: earlier answers are not needed again. */
  readonly open: number;
  readonly said: Said;
}

/** Why a worker does not work for the study. */
export interface Refusal {
  readonly run: string;
  readonly refused: string;
}

export type DownMessage = AttemptKey &
  (
    | { readonly kind: "answer"; readonly seq: number; readonly verdict: Verdict }
    /** The attempt is not, or no longer, one of the study's. */
    | { readonly kind: "gone" }
    | { readonly kind: "interrupt"; readonly reason: string }
  );

export type Up = UpMessage | Refusal;

export const keyOf = ({ trial, attempt }: AttemptKey): string => `${trial}-${attempt}`;

/** Sends the messages of one turn of the event loop together. */
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

interface Unanswered {
  readonly said: Said;
  readonly answer: (verdict: Verdict | undefined) => void;
  sentAt: number;
}

/** A message without an answer is repeated after this time. */
const REPEAT_MS = 1000;

/** The worker's side of one attempt: repeats each message until the controller has answered it. */
export class Conversation {
  readonly key: AttemptKey;
  readonly #send: (message: Omit<UpMessage, "run" | "worker">) => void;
  readonly #unanswered = new Map<number, Unanswered>();
  #seq = 0;
  #isGone = false;
  /** Called when the attempt is no longer one of the study's. */
  onGone: () => void = () => undefined;
  onInterrupt: (reason: string) => void = () => undefined;

  constructor(key: AttemptKey, send: (message: Omit<UpMessage, "run" | "worker">) => void) {
    this.key = key;
    this.#send = send;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Resolves to the answer; undefined when the attempt is no longer one of the study's. */
  say(said: Said): Promise<Verdict | undefined> {
    if (this.#isGone) return Promise.resolve(undefined);
    return new Promise((answer) => {
      const seq = this.#seq++;
      this.#unanswered.set(seq, { said, answer, sentAt: 0 });
      this.#sendAgain(seq);
    });
  }

  receive(message: DownMessage): void {
    if (message.kind === "gone") this.end();
    else if (message.kind === "interrupt") this.onInterrupt(message.reason);
    else {
      this.#unanswered.get(message.seq)?.answer(message.verdict);
      this.#unanswered.delete(message.seq);
    }
  }

  /** Repeats messages that have waited too long for their answer; with `all`, every message that waits. */
  repeat(all: boolean): void {
    const before = all ? Infinity : performance.now() - REPEAT_MS;
    for (const [seq, { sentAt }] of this.#unanswered) if (sentAt < before) this.#sendAgain(seq);
  }

  /** Ends the conversation: the controller no longer listens. */
  end(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    for (const { answer } of this.#unanswered.values()) answer(undefined);
    this.#unanswered.clear();
    this.onGone();
  }

  #sendAgain(seq: number): void {
    const each = this.#unanswered.get(seq)!;
    each.sentAt = performance.now();
    const [open] = this.#unanswered.keys();
    this.#send({ ...this.key, seq, open: open!, said: each.said });
  }
}

/** An attempt as the controller sees it. */
export interface Attempt {
  readonly key: AttemptKey;
  readonly jobId: string;
  readonly job: TrialJob;
  /** The worker that runs it; undefined while it waits in the queue. */
  readonly worker: string | undefined;
  /** The worker's machine and process, for messages. */
  readonly where: string;
}

interface OpenAttempt extends Attempt {
  readonly host: TrialHost;
  worker: string | undefined;
  where: string;
  /** The number of the next message. */
  next: number;
  readonly answers: Map<number, Verdict>;
  readonly resolve: (outcome: TrialOutcome) => void;
  readonly reject: (error: Error) => void;
}

const CONTINUE: Verdict = { kind: "continue" };

/** The controller's side of all attempts: applies each message once, and repeats answers on request. */
export class Attempts {
  readonly #run: string;
  readonly #send: (worker: string, message: DownMessage) => void;
  readonly #open = new Map<string, OpenAttempt>();

  constructor(run: string, send: (worker: string, message: DownMessage) => void) {
    this.#run = run;
    this.#send = send;
  }

  get all(): readonly Attempt[] {
    return [...this.#open.values()];
  }

  /** Expects messages about an attempt, and passes it to `begun`; resolves to its outcome. */
  begin(job: TrialJob, host: TrialHost, begun: (attempt: Attempt) => void): Promise<TrialOutcome> {
    return new Promise((resolve, reject) => {
      const key = { trial: job.number, attempt: job.attempt };
      const jobId = `${this.#run}-${keyOf(key)}`;
      const state = { worker: undefined, where: "", next: 0, answers: new Map<number, Verdict>() };
      const attempt: OpenAttempt = { key, jobId, job, host, resolve, reject, ...state };
      this.#open.set(keyOf(key), attempt);
      begun(attempt);
    });
  }

  receive(message: UpMessage): void {
    const { worker, seq, open, said } = message;
    const attempt = this.#open.get(keyOf(message));
    const key = { trial: message.trial, attempt: message.attempt };
    if (!attempt || (attempt.worker !== undefined && attempt.worker !== worker))
      return this.#send(worker, { kind: "gone", ...key });
    for (const answered of attempt.answers.keys()) if (answered < open) attempt.answers.delete(answered);
    const known = attempt.answers.get(seq);
    if (known) return this.#send(worker, { kind: "answer", ...key, seq, verdict: known });
    // It is being handled; or an earlier one was lost, and both will be repeated.
    if (seq !== attempt.next) return;
    attempt.next++;
    void this.#apply(attempt, said, worker).then((verdict) => {
      attempt.answers.set(seq, verdict);
      this.#send(worker, { kind: "answer", ...key, seq, verdict });
    });
  }

  /** The machine of the attempt, or the connection to it, is lost. */
  lose(attempt: Attempt, why: string): void {
    this.#end(attempt)?.reject(new TrialLost(why));
  }

  /** Ends an attempt that no worker has begun. */
  withdraw(attempt: Attempt): void {
    this.#end(attempt)?.resolve({ result: undefined, stash: attempt.job.stash, interrupted: true });
  }

  async #apply(attempt: OpenAttempt, said: Said, worker: string): Promise<Verdict> {
    const { host } = attempt;
    switch (said.kind) {
      case "take":
        attempt.worker = worker;
        attempt.where = said.where;
        return CONTINUE;
      case "report":
        return host.report(said.step, said.values, said.stash);
      case "checkpoint":
        await host.checkpoint(said.path, said.stash);
        return CONTINUE;
      case "returned":
        this.#end(attempt)?.resolve(said.outcome);
        return CONTINUE;
      case "failed":
        this.#end(attempt)?.reject(toError(said.error));
        return CONTINUE;
      default:
        this.lose(attempt, said.reason);
        return CONTINUE;
    }
  }

  /** Messages about the attempt are answered with `gone` from here on. */
  #end({ key }: Attempt): OpenAttempt | undefined {
    const attempt = this.#open.get(keyOf(key));
    this.#open.delete(keyOf(key));
    return attempt;
  }
}
