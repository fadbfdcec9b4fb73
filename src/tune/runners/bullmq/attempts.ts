// The controller's side of attempts that run elsewhere: hears what workers say, applies each message once and in order, and
// answers; what is asked again is answered again.
import { toError } from "../../failure.ts";
import { TrialLost } from "../../study-error.ts";
import type { TrialHost, TrialJob, TrialOutcome, Verdict } from "../runner.ts";
import { keyOf, type AttemptKey, type DownMessage, type Said, type UpMessage } from "./messages.ts";

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
