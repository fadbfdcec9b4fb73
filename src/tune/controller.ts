// The controller of a running study: it starts trials, and decides on what they report. Every decision is in the journal
// before it takes effect.
import { FailureStreak, spent, wakeWhenSpent, type Ending } from "./study-end.ts";
import type { CommandEntry } from "./journal-format.ts";
import type { StudyDesk } from "./study-desk.ts";
import { errorOf, StudyError, TrialLost } from "./study-errors.ts";
import type { StudyEvents } from "./study-events.ts";
import type { StudyPlan } from "./study-options.ts";
import { infoOf, type TrialState } from "./study-state.ts";
import type { StudyStore } from "./study-store.ts";
import type { TrialHost, TrialOutcome, Verdict } from "./runners/runner.ts";
import { checkValues, trialSeed } from "./trial.ts";
import type { Decision, Report, Result } from "./types.ts";

type Stash = TrialState["stash"];

/** A trial that takes its machine down with it is not retried forever. */
const MAX_LOST = 10;

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

interface ControllerOptions {
  readonly plan: StudyPlan;
  readonly store: StudyStore;
  readonly events: StudyEvents;
  /** The pending stop request of a hook, a signal or the caller. */
  readonly stopped: () => Ending | undefined;
  readonly warn: (message: string) => void;
  /** Of a study with a directory: the commands of people. */
  readonly desk: StudyDesk | undefined;
}

export class Controller {
  readonly #options: ControllerOptions;
  readonly #messages: Message[] = [];
  #wake: () => void = () => undefined;
  readonly #running = new Map<number, AbortController>();
  /** Trials that this controller started. Others with status `running` were left behind by an earlier one. */
  readonly #started = new Set<number>();
  readonly #streak: FailureStreak;
  #failure: Error | undefined;
  #hasWarned = false;
  /** A person has ended the study. */
  #stop: Ending | undefined;
  iteration = 0;

  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#streak = new FailureStreak(options.plan.maxEqualFailures);
  }

  /** Makes the controller check whether the study must end. */
  readonly wake = (): void => this.#wake();

  /** Ends the study with this error. */
  fail(error: Error): void {
    this.#failure ??= error;
    this.wake();
  }

  async run(): Promise<Ending> {
    const { events, store, plan } = this.#options;
    const cancelTimer = wakeWhenSpent(plan.budget, store, this.wake);
    this.#options.desk?.open(this.wake);
    for (const number of store.carryOutPending()) if (store.trial(number).status === "pruned") this.#complete(number);
    try {
      for (;;) {
        events.post("tuneStepBegin", {});
        this.#options.desk?.decide((entry) => this.#command(entry));
        await this.#fill();
        if (this.#running.size > 0 || (store.state.paused && this.#canStart())) await this.#handleNext();
        events.post("tuneStepEnd", {});
        if (this.#running.size === 0 && !this.#canStart()) break;
        this.iteration++;
      }
    } finally {
      cancelTimer();
      this.#options.desk?.close();
    }
    if (this.#failure) throw this.#failure;
    const { length } = store.state.trials;
    const reason = length === 1 ? "1 trial" : `${length} trials`;
    return this.#ending() ?? { status: "completed", reason, requestedBy: "" };
  }

  /** Writes what was decided on a command, and carries it out where the state of the study does not. */
  #command(entry: CommandEntry): void {
    const { store, plan } = this.#options;
    store.write(entry);
    const { verb, args, by, why, state } = entry;
    if (state !== "applied") return;
    if (verb === "stop") this.#stop = { status: "stopped", reason: why ?? `asked for by ${by}`, requestedBy: by };
    else if (verb === "setConcurrency") plan.runner.resize?.(store.concurrency);
    else if (verb === "prune") {
      const trial = store.trial(args["trial"] as number);
      this.#running.get(trial.number)?.abort(trial.pending?.reason);
      if (trial.status === "pruned") this.#complete(trial.number);
    }
  }

  /** Notes that a person has changed the training of a trial, before anyone learns from it. */
  #noteTouch(number: number): void {
    const { store, desk } = this.#options;
    const { runDir, touched } = store.trial(number);
    if (runDir !== undefined && !touched && desk?.isTouched(runDir)) store.write({ type: "touched", trial: number });
  }

  /** Starts trials up to the study's concurrency. */
  async #fill(): Promise<void> {
    const { events, store } = this.#options;
    while (!store.state.paused && this.#running.size < store.concurrency) {
      // A hook may stop the study when a trial has ended, before the next one starts.
      await events.settled();
      const trial = this.#ending() ? undefined : (this.#waiting() ?? store.suggest());
      if (!trial) return;
      this.#start(trial);
    }
  }

  #canStart(): boolean {
    if (this.#ending()) return false;
    const { store } = this.#options;
    return this.#waiting() !== undefined || store.state.trials.length < store.totalTrials;
  }

  /** A suggested trial that is not running: new, resumed, to be retried, or left behind by an earlier controller. */
  #waiting(): TrialState | undefined {
    return this.#options.store.state.trials.find(
      ({ number, status }) =>
        ["waiting", "interrupted"].includes(status) || (status === "running" && !this.#started.has(number)),
    );
  }

  #start({ number, attempts, checkpoint }: TrialState): void {
    const { plan, store, events } = this.#options;
    this.#started.add(number);
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
      (outcome) => this.#push({ kind: "returned", trial: number, outcome }),
      (error: unknown) => this.#push({ kind: "failed", trial: number, error }),
    );
  }

  #host(trial: number, signal: AbortSignal): TrialHost {
    return {
      signal,
      report: (step, values, stash) =>
        new Promise((answer) => this.#push({ kind: "report", trial, report: { step, values }, stash, answer })),
      checkpoint: (path, stash) =>
        new Promise((answer) => this.#push({ kind: "checkpoint", trial, path, stash, answer })),
    };
  }

  #push(message: Message): void {
    this.#messages.push(message);
    this.wake();
  }

  /** The next message of a trial; undefined when woken without one. */
  async #nextMessage(): Promise<Message | undefined> {
    if (this.#messages.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.#messages.shift();
  }

  async #handleNext(): Promise<void> {
    this.#interruptIfEnding();
    if (this.#options.desk?.hasNews) return;
    const message = await this.#nextMessage();
    this.#interruptIfEnding();
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

  /** Aborts the signals of running trials, so that those that use it do not wait for their next report. */
  #interruptIfEnding(): void {
    const ending = this.#ending();
    if (ending) this.abandon(ending.reason);
  }

  abandon(reason: string): void {
    for (const abort of this.#running.values()) abort.abort(reason);
  }

  async #report(number: number, reported: Report, stash: Stash): Promise<Verdict> {
    const { store } = this.#options;
    this.#noteTouch(number);
    const trial = store.trial(number);
    // A resumed trial repeats the steps after its checkpoint, which were reported before.
    if (reported.step > (trial.reports.at(-1)?.step ?? 0)) {
      this.#checkStep(trial, reported);
      const report = await this.#result(trial, reported);
      const decision = this.#decide(trial, report);
      const checkpoint = decision.kind === "exploit" ? store.trial(decision.from).checkpoint : undefined;
      const more = { ...(checkpoint && { checkpoint }), ...changedStash(trial, stash) };
      store.write({ type: "report", trial: number, ...report, decision, ...more });
      if (decision.kind !== "continue") return decision;
    }
    if (trial.pending?.kind === "prune") return trial.pending;
    return this.#ending() ? { kind: "interrupt", reason: "the study ends" } : { kind: "continue" };
  }

  /** Warns once if trials run past the scheduler's `maxSteps`, after which it ends none of them early. */
  #checkStep({ number }: TrialState, { step }: Report): void {
    const { plan, warn } = this.#options;
    const { name, maxSteps = Infinity } = plan.scheduler;
    if (step <= maxSteps || this.#hasWarned) return;
    this.#hasWarned = true;
    warn(
      `${name}: trial ${number} reported step ${step}, but \`maxSteps\` is ${maxSteps}: beyond it no trial is ended early. Set \`maxSteps\` to the steps that a whole trial reports; a training reports optimizer steps, not epochs.`,
    );
  }

  /** The report after hooks had the chance to change it. */
  async #result(trial: TrialState, { step, values: reported }: Report): Promise<Report> {
    const { events } = this.#options;
    const values = { ...reported };
    const check = (): void => void checkValues("ctx.result", values);
    const listens = events.post("trialResult", { trial: infoOf(trial), result: values, trialStep: step }, check);
    if (listens) await events.settled();
    return { step, values: { ...values } };
  }

  #decide(trial: TrialState, report: Report): Decision {
    const { plan, store } = this.#options;
    const asked = store.trial(trial.number).pending;
    if (asked) return asked;
    if (trial.touched) return { kind: "continue" };
    const reporting = { ...trial, reports: [...trial.reports, report], result: report.values };
    const trials = store.judged.with(trial.number, reporting);
    const decision = plan.scheduler.decide(reporting, report, trials, store.view);
    // An exploit needs a checkpoint to continue from.
    if (decision.kind === "exploit" && !store.trial(decision.from).checkpoint) return { kind: "continue" };
    return decision;
  }

  #checkpoint(number: number, path: string, stash: Stash): void {
    const { store, events } = this.#options;
    const checkpoint = { path, trial: number };
    const before = store.trial(number);
    events.post("trialCheckpoint", { trial: infoOf(before), checkpoint });
    // A trial that will continue from another one no longer needs its own checkpoint.
    if (before.pending?.kind === "exploit") return;
    store.write({ type: "checkpoint", trial: number, path, ...changedStash(before, stash) });
    events.post("trialSave", { trial: infoOf(store.trial(number)), checkpoint });
  }

  #returned(number: number, { result: returned, stash, interrupted }: TrialOutcome): void {
    const { store, plan } = this.#options;
    this.#noteTouch(number);
    const trial = store.trial(number);
    const more = changedStash(trial, stash);
    if (trial.pending) return this.#left(number, more);
    // An interrupted trial returns as if it had finished.
    if (interrupted || this.#ending()?.status === "interrupted") return;
    const result = returned ?? trial.result ?? {};
    const missing = plan.objectives.find(({ metric }) => result[metric] === undefined);
    if (missing) return this.#endFailed(number, unreported(missing.metric, result), false);
    store.write({ type: "completed", trial: number, result, ...more });
    this.#streak.reset();
    this.#complete(number);
  }

  /** The trial has ended, as was decided on its last report. */
  #left(number: number, more: { readonly stash?: Stash } = {}): void {
    const { store } = this.#options;
    store.write({ type: "left", trial: number, ...more });
    if (store.trial(number).status !== "pruned") return;
    this.#streak.reset();
    this.#complete(number);
  }

  #failed(number: number, error: unknown): void {
    const { plan, store } = this.#options;
    const trial = store.trial(number);
    const isLost = error instanceof TrialLost;
    // A pruned trial already has its result, and a lost one was about to leave anyway.
    if (trial.pending?.kind === "prune" || (trial.pending && isLost)) return this.#left(number);
    if (this.#ending()?.status === "interrupted") return;
    this.#endFailed(number, error, isLost ? trial.lost < MAX_LOST : trial.failures < plan.retries, isLost);
  }

  #endFailed(number: number, thrown: unknown, retry: boolean, isLost = false): void {
    const { store, events } = this.#options;
    const error = errorOf(thrown);
    store.write({ type: "failed", trial: number, error, retry, ...(isLost && { lost: true }) });
    const trial = infoOf(store.trial(number));
    events.post(retry ? "trialRecover" : "trialError", { trial, error });
    if (!retry) this.#failure ??= this.#streak.add(error, thrown);
  }

  #complete(number: number): void {
    const trial = infoOf(this.#options.store.trial(number));
    this.#options.events.post("trialComplete", { trial, result: trial.result ?? {} });
  }

  /** Asks the scheduler which paused trials resume, and which never will. */
  #reschedule(): void {
    const { plan, store } = this.#options;
    const { judged, view } = store;
    const isPaused = (number: number): boolean => store.trial(number).status === "paused";
    for (const trial of (plan.scheduler.resume?.(judged, view) ?? []).filter(isPaused))
      store.write({ type: "resumed", trial });
    for (const trial of (plan.scheduler.drop?.(store.judged, view) ?? []).filter(isPaused)) {
      store.write({ type: "dropped", trial });
      this.#complete(trial);
    }
  }

  /** Why no more trials may start; undefined while they may. */
  #ending(): Ending | undefined {
    const { plan, store, events, stopped } = this.#options;
    if (this.#failure) return { status: "error", reason: this.#failure.message, requestedBy: "" };
    if (events.failure) return { status: "error", reason: errorOf(events.failure.error).message, requestedBy: "" };
    return this.#stop ?? stopped() ?? spent(plan.budget, store);
  }
}

const changedStash = (trial: TrialState, stash: Stash): { readonly stash?: Stash } =>
  JSON.stringify(trial.stash) === JSON.stringify(stash) ? {} : { stash };

function unreported(metric: string, result: Result): StudyError {
  const known = Object.keys(result).join(", ") || "nothing";
  return new StudyError(
    `The trial never reported its objective \`${metric}\`. It reported: ${known}. Report it, or name another \`objective\`.`,
  );
}
