// What a report says about a study, worked out once for all its forms.
import { redact, secretsOfEnvironment } from "../../platform/redact.ts";
import type { TrialInfo } from "../../core/outer-events.ts";
import { importance, type Importance } from "../importance.ts";
import { orderTrials, paretoFront, rankTrials } from "../ranking.ts";
import type { Objective, TrialStatus } from "../types.ts";
import type { ReportedStudy } from "./study-report.ts";
import { formatDuration } from "../../terminal/eta.ts";
import { numberText, valueAtPath } from "../study-table.ts";

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

// A study in a few lines: how it ended, what was best, what it took.

interface SummaryLine {
  readonly title: string;
  readonly text: string;
}

const counted = (count: number, one: string): string => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

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

// What a table of trials says of each: its objectives, its parameters, and where there is something to say, how it went.

export interface Column {
  readonly title: string;
  readonly kind: "number" | "text" | "long";
  text(trial: TrialInfo): string;
}

const isNumber = (text: string): boolean => text === "" || !Number.isNaN(Number(text));

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
    { title: "attempts", text: ({ attempts }) => String(attempts) },
    { title: "why", text: ({ reason }) => reason },
  ];
  return columns
    .map((column) => {
      const texts = trials.map((trial) => column.text(trial));
      return {
        column,
        texts,
        kind: column.title === "why" ? "long" : texts.every(isNumber) ? "number" : "text",
      } as const;
    })
    .filter(({ column: { title }, texts }) =>
      title === "attempts"
        ? texts.some((text) => Number(text) > 1)
        : title !== "why" || texts.some((text) => text !== ""),
    )
    .map(({ column, kind }) => ({ ...column, kind }));
}

/** Of the best, all but how they went; where one of them ended early, that its value is no result. */
export function shortColumnsOf(facts: Facts, shown: readonly TrialInfo[]): readonly Column[] {
  const early = shown.some(({ status }) => status !== "completed");
  const left = ["attempts", "why", ...(early ? [] : ["status"])];
  return columnsOf(facts).filter(({ title }) => !left.includes(title));
}
