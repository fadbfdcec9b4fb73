// What a report says about a study, computed once for all its forms.
import { redact, secretsOfEnvironment } from "../../platform/redact.ts";
import type { TrialInfo } from "../../core/outer-events.ts";
import { formatDuration } from "../../terminal/eta.ts";
import { importance, type Importance } from "../importance.ts";
import { orderTrials, paretoFront, rankTrials } from "../ranking.ts";
import { numberText, valueAtPath } from "../study-table.ts";
import type { Objective, ReportedStudy, TrialStatus } from "../types.ts";

export interface Facts {
  readonly study: Omit<ReportedStudy, "trials">;
  /** By number. */
  readonly trials: readonly TrialInfo[];
  /** Trials that can be compared, best first. */
  readonly ranked: readonly TrialInfo[];
  /** All trials, in the order of a table. */
  readonly all: readonly TrialInfo[];
  readonly best: TrialInfo | undefined;
  /** Completed trials that no other beats; only with several objectives. */
  readonly front: readonly TrialInfo[];
  readonly counts: readonly { readonly status: TrialStatus; readonly count: number }[];
  /** Of all trials together. */
  readonly steps: number;
  readonly importance: Importance | undefined;
  /** Failed trials by their error, the most frequent first. */
  readonly failures: readonly Failure[];
  /** From 0, the best, to 1; undefined where a trial cannot be compared. */
  rank(trial: TrialInfo): number | undefined;
}

interface Failure {
  readonly message: string;
  readonly trials: readonly number[];
}

/** How many of the best trials a report lists. */
export const BEST = 10;

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
  const ranked = rankTrials(trials, objectives);
  const ranks = new Map(ranked.map(({ number }, place) => [number, place / Math.max(1, ranked.length - 1)]));
  const front = paretoFront(trials, objectives);
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
    rank: ({ number }) => ranks.get(number),
  };
}

/** The last step that a trial reported. */
export const stepOf = ({ reports }: TrialInfo): number => reports.at(-1)?.step ?? 0;

/** The value of an objective; undefined where it is missing or not finite. */
export function valueOf({ result }: TrialInfo, { metric }: Objective): number | undefined {
  const value = result?.[metric];
  return Number.isFinite(value) ? value : undefined;
}

/**
 * The values that an axis of results must cover: those of completed trials, if there are some. Values of trials that
 * ended early are not comparable, and would take most of the axis.
 */
export function comparedValues(trials: readonly TrialInfo[], objective: Objective): readonly number[] {
  const valuesOf = (some: readonly TrialInfo[]): readonly number[] =>
    some.map((trial) => valueOf(trial, objective)).filter((value) => value !== undefined);
  const completed = valuesOf(trials.filter(({ status }) => status === "completed"));
  return completed.length >= 3 ? completed : valuesOf(trials);
}

/** Reports are passed on, and an error message may quote an address with a password. */
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

/** At most `most`: the best half of them, and an even selection of the rest. */
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

export interface SummaryLine {
  readonly title: string;
  readonly text: string;
}

const counted = (count: number, one: string): string => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

/** A study in a few lines: the best values, and how many trials, steps and seconds it took. */
export function summaryOf({ study, trials, counts, steps }: Facts): readonly SummaryLine[] {
  const { objectives, elapsed, status, reason } = study;
  const completed = trials.filter(({ status: each }) => each === "completed");
  const lines: SummaryLine[] = objectives.map((objective) => {
    const { metric, mode } = objective;
    const best = rankTrials(completed, [objective])[0];
    return {
      title: `${mode === "min" ? "lowest" : "highest"} ${metric}`,
      text: best ? `${numberText(best.result?.[metric])} in trial ${best.number}` : "no trial has completed",
    };
  });
  lines.push({
    title: counted(trials.length, "trial"),
    text: counts.map(({ status: each, count }) => `${count.toLocaleString("en")} ${each}`).join(", ") || "none yet",
  });
  if (steps > 0) lines.push({ title: "steps", text: steps.toLocaleString("en") });
  if (elapsed !== undefined) lines.push({ title: "time", text: formatDuration(elapsed) });
  if (status !== undefined) lines.push({ title: "ended", text: reason ? `${status}: ${reason}` : status });
  return lines;
}

/** `trials 3, 7, 9 and 12 more`. */
export function trialList(numbers: readonly number[], most = 8): string {
  const shown = numbers.slice(0, most).join(", ");
  const left = numbers.length - most;
  return `${numbers.length === 1 ? "trial" : "trials"} ${shown}${left > 0 ? ` and ${left} more` : ""}`;
}

/** A column of a table of trials. */
export interface Column {
  readonly title: string;
  readonly kind: "number" | "text" | "long";
  text(trial: TrialInfo): string;
}

/** All columns that have something to show. */
export function columnsOf({ study: { space, objectives }, trials }: Facts): readonly Column[] {
  const paths = [...new Set(space.parameters.map(({ path }) => path))];
  const columns: Omit<Column, "kind">[] = [
    { title: "trial", text: ({ number }) => String(number) },
    { title: "status", text: ({ status }) => status },
    ...objectives.map(({ metric }) => ({
      title: metric,
      text: ({ result }: TrialInfo) => numberText(result?.[metric]),
    })),
    ...paths.map((path) => ({ title: path, text: (trial: TrialInfo) => valueAtPath(trial, path, space.parameters) })),
    { title: "steps", text: (trial) => numberText(stepOf(trial)) },
  ];
  if (trials.some(({ attempts }) => attempts > 1))
    columns.push({ title: "attempts", text: ({ attempts }) => String(attempts) });
  if (trials.some(({ reason }) => reason !== "")) columns.push({ title: "why", text: ({ reason }) => reason });
  const isNumber = (text: string): boolean => text === "" || !Number.isNaN(Number(text));
  return columns.map((column) => {
    const hasNumbers = trials.every((trial) => isNumber(column.text(trial)));
    return { ...column, kind: column.title === "why" ? "long" : hasNumbers ? "number" : "text" };
  });
}

/** The columns for the best trials: without `attempts` and `why`, and `status` only where one of them ended early. */
export function shortColumnsOf(facts: Facts, shown: readonly TrialInfo[]): readonly Column[] {
  const endedEarly = shown.some(({ status }) => status !== "completed");
  const omitted = ["attempts", "why", ...(endedEarly ? [] : ["status"])];
  return columnsOf(facts).filter(({ title }) => !omitted.includes(title));
}
