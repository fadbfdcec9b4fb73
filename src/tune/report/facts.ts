// What a report says about a study, worked out once for all its forms.
import { redact, secretsOfEnvironment } from "../../core/redact.ts";
import type { TrialInfo } from "../../core/tune.types.ts";
import { importance, type Importance } from "../importance.ts";
import { paretoFront } from "../pareto.ts";
import { orderTrials, rankTrials } from "../rank-trials.ts";
import type { Objective, TrialStatus } from "../types.ts";
import type { ReportedStudy } from "./index.ts";

export interface Facts {
  readonly study: Omit<ReportedStudy, "trials">;
  /** By number. */
  readonly trials: readonly TrialInfo[];
  /** Trials that can be compared, best first. */
  readonly ranked: readonly TrialInfo[];
  /** All, in the order of a table. */
  readonly all: readonly TrialInfo[];
  readonly best: TrialInfo | undefined;
  /** Completed trials that no other beats; of more than one objective only. */
  readonly front: readonly TrialInfo[];
  readonly counts: readonly { readonly status: TrialStatus; readonly count: number }[];
  /** Of all trials together. */
  readonly steps: number;
  readonly importance: Importance | undefined;
  /** Those that failed for good, by what they failed with; most frequent first. */
  readonly failures: readonly Failure[];
  /** From 0, the best, to 1; undefined where a trial cannot be compared. */
  place(trial: TrialInfo): number | undefined;
}

interface Failure {
  readonly message: string;
  readonly trials: readonly number[];
}

const STATUSES: readonly TrialStatus[] = [
  "completed",
  "pruned",
  "failed",
  "running",
  "interrupted",
  "paused",
  "waiting",
];

export function factsOf(study: ReportedStudy): Facts {
  const { space, objectives } = study;
  const trials = withoutSecrets(study.trials);
  const ranked = rankTrials(trials, objectives) as readonly TrialInfo[];
  const places = new Map(ranked.map(({ number }, place) => [number, place / Math.max(1, ranked.length - 1)]));
  const front = paretoFront(trials, objectives) as readonly TrialInfo[];
  const first = objectives.length > 1 ? front[0] : ranked[0];
  return {
    study,
    trials,
    ranked,
    all: orderTrials(trials, objectives),
    best: first?.status === "completed" ? first : undefined,
    front: objectives.length > 1 ? front : [],
    counts: STATUSES.map((status) => ({
      status,
      count: trials.filter((trial) => trial.status === status).length,
    })).filter(({ count }) => count > 0),
    steps: trials.reduce((sum, trial) => sum + stepOf(trial), 0),
    importance: importance(space, trials, objectives),
    failures: failuresOf(trials),
    place: ({ number }) => places.get(number),
  };
}

/** How far a trial came. */
export const stepOf = ({ reports }: TrialInfo): number => reports.at(-1)?.step ?? 0;

/** The value of an objective; undefined where it is missing or no number that a chart could show. */
export function valueOf({ result }: TrialInfo, { metric }: Objective): number | undefined {
  const value = result?.[metric];
  return Number.isFinite(value) ? value : undefined;
}

/**
 * The values that an axis of results is made for: those of completed trials, if there are some. What others had when they
 * ended early is not comparable, and would take most of the room.
 */
export function comparedValues(trials: readonly TrialInfo[], objective: Objective): readonly number[] {
  const valuesOf = (some: readonly TrialInfo[]): readonly number[] =>
    some.map((trial) => valueOf(trial, objective)).filter((value) => value !== undefined);
  const completed = valuesOf(trials.filter(({ status }) => status === "completed"));
  return completed.length >= 3 ? completed : valuesOf(trials);
}

/** A report is made to be passed on, and an error may quote an address with a password in it. */
function withoutSecrets(trials: readonly TrialInfo[]): readonly TrialInfo[] {
  const secrets = secretsOfEnvironment();
  return trials.map((trial) => (trial.reason === "" ? trial : { ...trial, reason: redact(trial.reason, secrets) }));
}

function failuresOf(trials: readonly TrialInfo[]): readonly Failure[] {
  const byMessage = new Map<string, number[]>();
  for (const { status, reason, number } of trials) {
    if (status === "failed") byMessage.set(reason, [...(byMessage.get(reason) ?? []), number]);
  }
  return [...byMessage]
    .map(([message, numbers]) => ({ message, trials: numbers }))
    .sort((a, b) => b.trials.length - a.trials.length);
}

/** At most so many: the better half of them, and of the rest every so-manieth. */
export function someOf<T>(ranked: readonly T[], most: number): readonly T[] {
  if (ranked.length <= most) return ranked;
  const best = Math.ceil(most / 2);
  const others = most - best;
  const every = (ranked.length - best) / others;
  return [
    ...ranked.slice(0, best),
    ...Array.from({ length: others }, (_, i) => ranked[Math.floor(best + (i + 1) * every) - 1]!),
  ];
}
