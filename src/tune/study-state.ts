// The state of a study: a function of the lines of its journal, and of nothing else.
import type { TrialInfo } from "../core/outer-events.ts";
import type { CommandEntry, EndedEntry, JournalEntry, StudyEntry } from "./journal-format.ts";
import type { Decision, Params, Report, TrialRecord } from "./types.ts";

/** A trial. Immutable: each line of the journal makes a new one. */
export interface TrialState extends TrialRecord, TrialInfo {
  readonly params: Params;
  readonly reports: readonly Report[];
  /** The decision on its last report that is not carried out yet. */
  readonly pending: Exclude<Decision, { kind: "continue" }> | undefined;
  /** Attempts whose machine was lost. */
  readonly lost: number;
}

export class StudyState {
  /** The first line, once there is one. */
  study: StudyEntry | undefined;
  readonly trials: TrialState[] = [];
  /** How the last controller ended; undefined while one is running, or when it was killed. */
  ended: EndedEntry | undefined;
  /** Steps of all trials. */
  steps = 0;
  /** A person wants no new trials for now. */
  paused = false;
  /** What a person has set; undefined: as the study's options say. */
  concurrency: number | undefined;
  /** Without those that were added. */
  totalTrials: number | undefined;
  /** Trials that a person has added, and the parameters of those that have no number yet. */
  added = 0;
  enqueued: readonly Params[] = [];
  /** Ids of the commands that were decided on. */
  readonly decided = new Set<string>();
  readonly #runDirOf: (number: number) => string | undefined;

  constructor(runDirOf: (number: number) => string | undefined) {
    this.#runDirOf = runDirOf;
  }

  apply(entry: JournalEntry): void {
    this.ended = entry.type === "ended" ? entry : undefined;
    if (entry.type === "ended") this.#end(entry);
    else if (entry.type === "study") this.study = entry;
    else if (entry.type === "command") this.#command(entry);
    else if (entry.type === "suggested") {
      this.trials.push(this.#suggested(entry.trial, entry.params));
      this.enqueued = this.enqueued.slice(1);
    } else this.trials[entry.trial] = this.#next(this.trials[entry.trial]!, entry);
  }

  #end({ status }: EndedEntry): void {
    this.interruptRunning();
    this.paused = false;
    // It came to the end that was asked for: the options of the next run say how far it continues.
    if (status === "completed") this.concurrency = this.totalTrials = undefined;
  }

  #command({ id, verb, args, state, by, why }: CommandEntry): void {
    this.decided.add(id);
    if (state !== "applied") return;
    if (verb === "pause" || verb === "continue") this.paused = verb === "pause";
    else if (verb === "setConcurrency") this.concurrency = args["n"] as number;
    else if (verb === "setTrials") this.totalTrials = (args["n"] as number) - this.added;
    else if (verb === "enqueue") {
      this.added++;
      this.enqueued = [...this.enqueued, args["params"] as Params];
    } else if (verb === "prune") {
      const number = args["trial"] as number;
      this.trials[number] = pruned(this.trials[number]!, `pruned by ${by}${why === undefined ? "" : `: ${why}`}`);
    }
  }

  /** Without a controller, trials that were running are interrupted. */
  interruptRunning(): void {
    for (const [i, trial] of this.trials.entries())
      if (trial.status === "running") this.trials[i] = { ...trial, status: "interrupted" };
  }

  #suggested(number: number, params: Params): TrialState {
    return {
      number,
      params,
      status: "waiting",
      reports: [],
      result: undefined,
      reason: "",
      attempts: 0,
      failures: 0,
      checkpoint: undefined,
      stash: {},
      runDir: this.#runDirOf(number),
      touched: false,
      pending: undefined,
      lost: 0,
    };
  }

  #next(
    before: TrialState,
    entry: Exclude<JournalEntry, { type: "study" | "suggested" | "command" | "ended" }>,
  ): TrialState {
    const trial = "stash" in entry && entry.stash ? { ...before, stash: entry.stash } : before;
    switch (entry.type) {
      case "started":
        return { ...trial, status: "running", attempts: trial.attempts + 1, reason: "" };
      case "report": {
        const { step, values, decision, checkpoint } = entry;
        this.steps += step - (trial.reports.at(-1)?.step ?? 0);
        const pending = decision.kind === "continue" ? undefined : decision;
        const reports = [...trial.reports, { step, values }];
        return { ...trial, reports, result: values, pending, ...(checkpoint && { checkpoint }) };
      }
      case "checkpoint":
        return { ...trial, checkpoint: { path: entry.path, trial: trial.number } };
      case "completed":
        return { ...trial, status: "completed", result: entry.result, pending: undefined };
      case "left":
        return left(trial);
      case "resumed":
        return { ...trial, status: "waiting" };
      case "dropped":
        return { ...trial, status: "pruned" };
      case "touched":
        return { ...trial, touched: true };
      default: {
        const counts = entry.lost ? { lost: trial.lost + 1 } : { failures: trial.failures + 1 };
        const status = entry.retry ? "waiting" : "failed";
        return { ...trial, status, ...counts, reason: entry.error.message, pending: undefined };
      }
    }
  }
}

/** A running trial ends with its next report, or sooner. */
const pruned = (trial: TrialState, reason: string): TrialState =>
  trial.status === "running"
    ? { ...trial, pending: { kind: "prune", reason } }
    : { ...trial, status: "pruned", pending: undefined, reason };

function left(trial: TrialState): TrialState {
  const { pending } = trial;
  const after = { ...trial, pending: undefined, reason: pending?.reason ?? "" };
  if (pending?.kind === "exploit") return { ...after, status: "waiting", params: pending.params };
  return { ...after, status: pending?.kind === "pause" ? "paused" : "pruned" };
}

/** The part of a trial's state that hooks and callers see. */
export function infoOf({ pending: _pending, lost: _lost, ...info }: TrialState): TrialInfo {
  return info;
}
