import type { TrialFailure } from "../../../core/outer-events.ts";
import { stringifyExact } from "../../../runs/exact-json.ts";
import type { FromTrial, TrialHost, TrialJob, TrialOutcome, Verdict } from "../runner.ts";
import { TrialLost, toError } from "../../study-errors.ts";

// Messages between the workers and the controller of a study. Any of them may be lost or arrive twice: a worker numbers
// its messages and repeats each until it is answered, and each is applied once.

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

// A worker's side of one attempt: says what the trial says, again and again until the controller has answered.

interface Open {
  readonly said: Said;
  readonly answer: (verdict: Verdict | undefined) => void;
  sentAt: number;
}

/** What is not answered by then is said again. */
const REPEAT_MS = 1000;

export class Conversation {
  readonly key: AttemptKey;
  readonly #send: (message: Omit<UpMessage, "run" | "worker">) => void;
  readonly #open = new Map<number, Open>();
  #seq = 0;
  #isGone = false;
  /** Called when the study has nothing to do with the attempt any more. */
  onGone: () => void = () => undefined;
  onInterrupt: (reason: string) => void = () => undefined;

  constructor(key: AttemptKey, send: (message: Omit<UpMessage, "run" | "worker">) => void) {
    this.key = key;
    this.#send = send;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Resolves to the answer; undefined when the study has nothing to do with the attempt any more. */
  say(said: Said): Promise<Verdict | undefined> {
    if (this.#isGone) return Promise.resolve(undefined);
    return new Promise((answer) => {
      const seq = this.#seq++;
      this.#open.set(seq, { said, answer, sentAt: 0 });
      this.#sendAgain(seq);
    });
  }

  hear(message: DownMessage): void {
    if (message.kind === "gone") this.end();
    else if (message.kind === "interrupt") this.onInterrupt(message.reason);
    else {
      this.#open.get(message.seq)?.answer(message.verdict);
      this.#open.delete(message.seq);
    }
  }

  /** Says again what has waited too long for its answer, or with `all` whatever waits. */
  repeat(all: boolean): void {
    const before = all ? Infinity : performance.now() - REPEAT_MS;
    for (const [seq, { sentAt }] of this.#open) if (sentAt < before) this.#sendAgain(seq);
  }

  /** Nobody listens any more. */
  end(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    for (const { answer } of this.#open.values()) answer(undefined);
    this.#open.clear();
    this.onGone();
  }

  #sendAgain(seq: number): void {
    const each = this.#open.get(seq)!;
    each.sentAt = performance.now();
    const [open] = this.#open.keys();
    this.#send({ ...this.key, seq, open: open!, said: each.said });
  }
}

// The controller's side of attempts that run elsewhere: hears what workers say, applies each message once and in order, and
// answers; what is asked again is answered again.

export interface Attempt {
  readonly key: AttemptKey;
  readonly jobId: string;
  readonly job: TrialJob;
  /** The worker that has it; undefined: it waits in the queue. */
  readonly worker: string | undefined;
  /** Its machine and process, for messages. */
  readonly where: string;
}

interface Entry extends Attempt {
  readonly host: TrialHost;
  worker: string | undefined;
  where: string;
  /** The number of the message that comes next. */
  next: number;
  readonly answers: Map<number, Verdict>;
  readonly resolve: (outcome: TrialOutcome) => void;
  readonly reject: (error: Error) => void;
}

const FINE: Verdict = { kind: "continue" };

export class Attempts {
  readonly #run: string;
  readonly #tell: (worker: string, message: DownMessage) => void;
  readonly #open = new Map<string, Entry>();

  constructor(run: string, tell: (worker: string, message: DownMessage) => void) {
    this.#run = run;
    this.#tell = tell;
  }

  get all(): readonly Attempt[] {
    return [...this.#open.values()];
  }

  /** Listens for an attempt, which `begun` gets; resolves to what came of it. */
  begin(job: TrialJob, host: TrialHost, begun: (attempt: Attempt) => void): Promise<TrialOutcome> {
    return new Promise((resolve, reject) => {
      const key = { trial: job.number, attempt: job.attempt };
      const jobId = `${this.#run}-${keyOf(key)}`;
      const state = { worker: undefined, where: "", next: 0, answers: new Map<number, Verdict>() };
      const entry: Entry = { key, jobId, job, host, resolve, reject, ...state };
      this.#open.set(keyOf(key), entry);
      begun(entry);
    });
  }

  hear(message: UpMessage): void {
    const { worker, seq, open, said } = message;
    const entry = this.#open.get(keyOf(message));
    const key = { trial: message.trial, attempt: message.attempt };
    if (!entry || (entry.worker !== undefined && entry.worker !== worker))
      return this.#tell(worker, { kind: "gone", ...key });
    for (const answered of entry.answers.keys()) if (answered < open) entry.answers.delete(answered);
    const known = entry.answers.get(seq);
    if (known) return this.#tell(worker, { kind: "answer", ...key, seq, verdict: known });
    // It is being dealt with, or one before it was lost and will be said again.
    if (seq !== entry.next) return;
    entry.next++;
    void this.#apply(entry, said, worker).then((verdict) => {
      entry.answers.set(seq, verdict);
      this.#tell(worker, { kind: "answer", ...key, seq, verdict });
    });
  }

  /** The machine of the attempt is lost, or the way to it. */
  lose(attempt: Attempt, why: string): void {
    this.#end(attempt)?.reject(new TrialLost(why));
  }

  /** Nobody has begun it, and nobody shall. */
  withdraw(attempt: Attempt): void {
    this.#end(attempt)?.resolve({ result: undefined, stash: attempt.job.stash, interrupted: true });
  }

  async #apply(entry: Entry, said: Said, worker: string): Promise<Verdict> {
    const { host } = entry;
    switch (said.kind) {
      case "take":
        entry.worker = worker;
        entry.where = said.where;
        return FINE;
      case "report":
        return host.report(said.step, said.values, said.stash);
      case "checkpoint":
        await host.checkpoint(said.path, said.stash);
        return FINE;
      case "returned":
        this.#end(entry)?.resolve(said.outcome);
        return FINE;
      case "failed":
        this.#end(entry)?.reject(toError(said.error));
        return FINE;
      default:
        this.lose(entry, said.reason);
        return FINE;
    }
  }

  /** From here on nothing that is said of it counts. */
  #end({ key }: Attempt): Entry | undefined {
    const entry = this.#open.get(keyOf(key));
    this.#open.delete(keyOf(key));
    return entry;
  }
}
