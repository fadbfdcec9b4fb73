// The controller: starts trials, hears what they say, decides, writes it down, and then does it.
import { type Ending, FailureStreak, spent, wakeWhenSpent } from "./study-end.ts";
import { StudyError, TrialLost, errorOf } from "./study-errors.ts";
import type { TrialHost, TrialOutcome, Verdict } from "./runners/runner.ts";
import type { StudyStore } from "./study-store.ts";
import type { StudyEvents } from "./study-events.ts";
import type { StudyPlan } from "./study-options.ts";
import { infoOf, type TrialState } from "./study-state.ts";
import { checkValues, trialSeed } from "./trial.ts";
import type { Decision, Report, Result } from "./types.ts";

type Stash = TrialState["stash"];

/** A trial that takes its machine down with it is not tried for ever. */
const MOST_LOST = 10;

type Message = { readonly trial: number } & (
  | {
      readonly kind: "report";
      readonly report: Report;
      readonly stash: Stash;
      readonly answer: (verdict: Verdict) => void;
    }
  | { readonly kind: "checkpoint"; readonly path: string; readonly stash: Stash; readonly answer: () => void }
  | { readonly kind: "returned"; readonly outcome: TrialOutcome }
  | { readonly kind: "failed"; readonly error: unknown }
);

interface Parts {
  readonly plan: StudyPlan;
  readonly store: StudyStore;
  readonly events: StudyEvents;
  /** Asked for a stop by a hook, a signal or the caller. */
  readonly stopped: () => Ending | undefined;
  readonly warn: (message: string) => void;
}

export class Controller {
  readonly #parts: Parts;
  readonly #mailbox = new Mailbox<Message>();
  readonly #running = new Map<number, AbortController>();
  /** Trials that this controller has taken up: those of an earlier one are unfinished until then. */
  readonly #mine = new Set<number>();
  readonly #streak: FailureStreak;
  #failure: Error | undefined;
  #hasWarned = false;
  iteration = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#streak = new FailureStreak(parts.plan.maxEqualFailures);
  }

  /** Lets it look whether it must end. */
  readonly wake = (): void => this.#mailbox.wake();

  /** Ends it with this error. */
  fail(error: Error): void {
    this.#failure ??= error;
    this.wake();
  }

  async run(): Promise<Ending> {
    const { events, store } = this.#parts;
    const stopLooking = wakeWhenSpent(this.#parts.plan.budget, store, this.wake);
    for (const number of store.carryOut()) if (store.trial(number).status === "pruned") this.#complete(number);
    try {
      for (;;) {
        events.post("tuneStepBegin", {});
        await this.#fill();
        if (this.#running.size > 0) await this.#hear();
        events.post("tuneStepEnd", {});
        if (this.#running.size === 0 && !this.#mayStart()) break;
        this.iteration++;
      }
    } finally {
      stopLooking();
    }
    if (this.#failure) throw this.#failure;
    return this.#over() ?? { status: "completed", reason: this.#summary(), requestedBy: "" };
  }

  /** Starts what may be started. */
  async #fill(): Promise<void> {
    const { plan, events } = this.#parts;
    while (this.#running.size < plan.concurrency) {
      // A hook may stop the study when a trial has ended, before the next one starts.
      await events.settled();
      const trial = this.#over() ? undefined : (this.#waiting() ?? this.#parts.store.suggest());
      if (!trial) return;
      this.#start(trial);
    }
  }

  /** Whether the next turn has something to start. */
  #mayStart(): boolean {
    if (this.#over()) return false;
    const { totalTrials = Infinity } = this.#parts.plan;
    return this.#waiting() !== undefined || this.#parts.store.state.trials.length < totalTrials;
  }

  /** A trial that was suggested and does not run: new, resumed, to be tried again, or left behind by another controller. */
  #waiting(): TrialState | undefined {
    return this.#parts.store.state.trials.find(
      ({ number, status }) =>
        ["waiting", "interrupted"].includes(status) || (status === "running" && !this.#mine.has(number)),
    );
  }

  #start({ number, attempts, checkpoint }: TrialState): void {
    const { plan, store, events } = this.#parts;
    this.#mine.add(number);
    const trial = store.start(number);
    events.post("trialStart", { trial: infoOf(trial) });
    if (checkpoint) events.post("trialRestore", { trial: infoOf(trial), checkpoint });
    const abort = new AbortController();
    this.#running.set(number, abort);
    const job = {
      number,
      params: trial.params,
      seed: trialSeed(plan.seed, number),
      attempt: attempts,
      runDir: trial.runDir,
      resume: checkpoint?.path,
      stash: trial.stash,
      objectives: plan.objectives.map(({ metric }) => metric),
    };
    plan.runner.run(job, this.#host(number, abort.signal)).then(
      (outcome) => this.#mailbox.push({ kind: "returned", trial: number, outcome }),
      (error: unknown) => this.#mailbox.push({ kind: "failed", trial: number, error }),
    );
  }

  #host(number: number, signal: AbortSignal): TrialHost {
    return {
      signal,
      report: (step, values, stash) =>
        new Promise((answer) =>
          this.#mailbox.push({ kind: "report", trial: number, report: { step, values }, stash, answer }),
        ),
      checkpoint: (path, stash) =>
        new Promise((answer) => this.#mailbox.push({ kind: "checkpoint", trial: number, path, stash, answer })),
    };
  }

  /** Deals with one thing that a trial said. */
  async #hear(): Promise<void> {
    this.#interruptIfOver();
    const message = await this.#mailbox.next();
    this.#interruptIfOver();
    if (!message) return;
    const { trial } = message;
    if (message.kind === "report") message.answer(await this.#report(trial, message.report, message.stash));
    else if (message.kind === "checkpoint") {
      this.#checkpoint(trial, message.path, message.stash);
      message.answer();
    } else {
      this.#running.delete(trial);
      if (message.kind === "returned") this.#returned(trial, message.outcome);
      else this.#failed(trial, message.error);
    }
    this.#reschedule();
  }

  /** Trials that watch the signal need not wait for their next report. */
  #interruptIfOver(): void {
    const over = this.#over();
    if (over) this.abandon(over.reason);
  }

  abandon(reason: string): void {
    for (const abort of this.#running.values()) abort.abort(reason);
  }

  async #report(number: number, reported: Report, stash: Stash): Promise<Verdict> {
    const { store } = this.#parts;
    const trial = store.trial(number);
    // A step that was reported before the trial was started again is known.
    if (reported.step > lastStep(trial)) {
      this.#checkStep(trial, reported);
      const report = await this.#result(trial, reported);
      const decision = this.#decide(trial, report);
      const checkpoint = decision.kind === "exploit" ? store.trial(decision.from).checkpoint : undefined;
      const more = { ...(checkpoint && { checkpoint }), ...(changed(trial, stash) && { stash }) };
      store.write({ type: "report", trial: number, ...report, decision, ...more });
      if (decision.kind !== "continue") return decision;
    }
    return this.#over() ? { kind: "interrupt", reason: "the study ends" } : { kind: "continue" };
  }

  /** A scheduler that expects less than trials do has judged most of them at once, and the rest never. */
  #checkStep({ number }: TrialState, { step }: Report): void {
    const { plan, warn } = this.#parts;
    const { name, maxSteps = Infinity } = plan.scheduler;
    if (step <= maxSteps || this.#hasWarned) return;
    this.#hasWarned = true;
    warn(
      `${name}: trial ${number} has reported step ${step}, and \`maxSteps\` is ${maxSteps}: from there on no trial is ended early. Let \`maxSteps\` be the steps that a whole trial reports; those of a training are its optimizer steps, not its epochs.`,
    );
  }

  /** What hooks made of a report. */
  async #result(trial: TrialState, { step, values: reported }: Report): Promise<Report> {
    const { events } = this.#parts;
    const values = { ...reported };
    const check = (): void => void checkValues("ctx.result", values);
    const told = events.post("trialResult", { trial: infoOf(trial), result: values, trialStep: step }, check);
    if (told) await events.settled();
    return { step, values: { ...values } };
  }

  #decide(trial: TrialState, report: Report): Decision {
    const { plan, store } = this.#parts;
    const reporting = { ...trial, reports: [...trial.reports, report], result: report.values };
    const trials = store.state.trials.with(trial.number, reporting);
    const decision = plan.scheduler.decide(reporting, report, trials, plan);
    // There is nothing to go on from yet.
    if (decision.kind === "exploit" && !store.trial(decision.from).checkpoint) return { kind: "continue" };
    return decision;
  }

  #checkpoint(number: number, path: string, stash: Stash): void {
    const { store, events } = this.#parts;
    const checkpoint = { path, trial: number };
    const before = store.trial(number);
    events.post("trialCheckpoint", { trial: infoOf(before), checkpoint });
    // One that goes on from another trial does not care for its own any more.
    if (before.pending?.kind === "exploit") return;
    store.write({ type: "checkpoint", trial: number, path, ...(changed(before, stash) && { stash }) });
    events.post("trialSave", { trial: infoOf(store.trial(number)), checkpoint });
  }

  #returned(number: number, { result: returned, stash, interrupted }: TrialOutcome): void {
    const { store, plan } = this.#parts;
    const trial = store.trial(number);
    const more = changed(trial, stash) ? { stash } : {};
    if (trial.pending) return this.#left(number, more);
    // What was cut short by a signal looks like an end, and is none.
    if (interrupted || this.#over()?.status === "interrupted") return;
    const result = returned ?? trial.result ?? {};
    const missing = plan.objectives.find(({ metric }) => result[metric] === undefined);
    if (missing) return this.#lose(number, unreported(missing.metric, result), false);
    store.write({ type: "completed", trial: number, result, ...more });
    this.#streak.end();
    this.#complete(number);
  }

  /** It has left, as was decided on its last report. */
  #left(number: number, more: { readonly stash?: Stash } = {}): void {
    const { store } = this.#parts;
    store.write({ type: "left", trial: number, ...more });
    if (store.trial(number).status !== "pruned") return;
    this.#streak.end();
    this.#complete(number);
  }

  #failed(number: number, error: unknown): void {
    const { plan, store } = this.#parts;
    const trial = store.trial(number);
    const isLost = error instanceof TrialLost;
    // It had its result already; or it was about to leave, and has left.
    if (trial.pending?.kind === "prune" || (trial.pending && isLost)) return this.#left(number);
    if (this.#over()?.status === "interrupted") return;
    this.#lose(number, error, isLost ? trial.lost < MOST_LOST : trial.failures < plan.retries, isLost);
  }

  #lose(number: number, thrown: unknown, retry: boolean, isLost = false): void {
    const { store, events } = this.#parts;
    const error = errorOf(thrown);
    store.write({ type: "failed", trial: number, error, retry, ...(isLost && { lost: true }) });
    const trial = infoOf(store.trial(number));
    events.post(retry ? "trialRecover" : "trialError", { trial, error });
    if (!retry) this.#failure ??= this.#streak.add(error, thrown);
  }

  #complete(number: number): void {
    const trial = infoOf(this.#parts.store.trial(number));
    this.#parts.events.post("trialComplete", { trial, result: trial.result ?? {} });
  }

  /** Paused trials that go on, or never will. */
  #reschedule(): void {
    const { plan, store } = this.#parts;
    const { trials } = store.state;
    const paused = (number: number): boolean => trials[number]?.status === "paused";
    for (const trial of (plan.scheduler.resume?.(trials, plan) ?? []).filter(paused))
      store.write({ type: "resumed", trial });
    for (const trial of (plan.scheduler.drop?.(trials, plan) ?? []).filter(paused)) {
      store.write({ type: "dropped", trial });
      this.#complete(trial);
    }
  }

  /** Why nothing more may begin. */
  #over(): Ending | undefined {
    const { plan, store, events, stopped } = this.#parts;
    if (this.#failure) return { status: "error", reason: this.#failure.message, requestedBy: "" };
    if (events.failure) return { status: "error", reason: errorOf(events.failure.error).message, requestedBy: "" };
    return stopped() ?? spent(plan.budget, store);
  }

  #summary(): string {
    const { length } = this.#parts.store.state.trials;
    return length === 1 ? "1 trial" : `${length} trials`;
  }
}

const lastStep = ({ reports }: TrialState): number => reports.at(-1)?.step ?? 0;

const changed = (trial: TrialState, stash: Stash): boolean => JSON.stringify(trial.stash) !== JSON.stringify(stash);

function unreported(metric: string, result: Result): StudyError {
  const known = Object.keys(result).join(", ") || "nothing";
  return new StudyError(
    `The trial never reported its objective \`${metric}\`. It reported: ${known}. Report it, or name another \`objective\`.`,
  );
}

// What trials say, in the order in which they said it, for one who reads it when it can.
class Mailbox<T> {
  readonly #messages: T[] = [];
  #wake: (() => void) | undefined;

  push(message: T): void {
    this.#messages.push(message);
    this.wake();
  }

  /** Lets who waits look around, though nothing was said. */
  wake(): void {
    this.#wake?.();
  }

  /** The next message; undefined when woken without one. */
  async next(): Promise<T | undefined> {
    if (this.#messages.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = undefined;
    return this.#messages.shift();
  }
}
