// Rejects monitors on metrics that nothing provides, before the first step.
import { OptionError } from "../core/errors.ts";
import type { Hook } from "../core/hook.ts";
import { isOfEvaluation, monitorValue } from "../core/monitor.ts";
import { selectNames } from "../core/names.ts";
import type { Metric } from "../core/model.ts";
import type { Schedule } from "../core/schedule.ts";
import { nearest } from "../core/suggest.ts";

/** A hook or schedule that cannot do without a metric. */
export interface Watcher {
  readonly kind: "hook" | "schedule";
  readonly name: string;
  readonly monitor: string;
}

/** What a run has to offer to them. */
export interface ProvidedMetrics {
  /** Names of the metrics of training and of each evaluation. */
  readonly metrics: readonly string[];
  /** What hooks declare in `logs`; `*` stands for any text. */
  readonly logs: readonly string[];
  readonly evaluates: boolean;
}

/** The names of the metrics of training and of each evaluation. */
export function metricNames(metrics: Readonly<Record<string, Metric>>, evals: readonly string[]): string[] {
  const all = Object.entries(metrics);
  const trained = all.filter(([, { evalOnly }]) => !evalOnly);
  const feeds = [["train", trained] as const, ...evals.map((name) => [name, all] as const)];
  return feeds.flatMap(([feed, own]) => ["loss", ...own.map(([name]) => name)].map((name) => `${feed}/${name}`));
}

export function watchersOf(hooks: readonly Hook[], schedules: readonly Schedule[]): Watcher[] {
  return [
    ...schedules.flatMap(({ name, monitor }): Watcher[] =>
      monitor === undefined ? [] : [{ kind: "schedule", name, monitor }],
    ),
    ...hooks.flatMap(({ name, monitors = [] }) =>
      monitors.map((monitor): Watcher => ({ kind: "hook", name, monitor })),
    ),
  ];
}

export function checkMonitors(watchers: readonly Watcher[], provided: ProvidedMetrics): void {
  for (const watcher of watchers) {
    if (!provided.evaluates && waitsForEvaluations(watcher)) throw noEvaluations(watcher);
    if (!isProvided(watcher.monitor, provided)) throw unknown(watcher, provided);
  }
}

/** A schedule observes everything but `train/…` after evaluations only. */
const waitsForEvaluations = ({ kind, monitor }: Watcher): boolean =>
  kind === "schedule" ? !monitor.startsWith("train/") : isOfEvaluation(monitor);

function isProvided(monitor: string, { metrics, logs }: ProvidedMetrics): boolean {
  const exact = [...metrics, ...logs.filter((name) => !name.includes("*"))];
  const patterns = logs.filter((name) => name.includes("*"));
  return (
    monitorValue(Object.fromEntries(exact.map((name) => [name, 0])), monitor) !== undefined ||
    selectNames(patterns, [monitor]).length > 0
  );
}

const shown = ({ kind, name, monitor }: Watcher): string =>
  `${kind === "hook" ? "Hook" : "Schedule"} \`${name}\` watches \`${monitor}\``;

function noEvaluations(watcher: Watcher): OptionError {
  const orElse =
    watcher.kind === "schedule"
      ? ", or let the schedule watch `train/loss`"
      : "; or, where a hook of yours logs it, say `strict: false`";
  return new OptionError(
    `${shown(watcher)}, which comes after evaluations, but there are none: give the trainer \`eval\`${orElse}.`,
  );
}

function unknown(watcher: Watcher, { metrics, logs }: ProvidedMetrics): OptionError {
  const { kind, monitor } = watcher;
  const known = [...metrics, ...logs];
  // `accuracy` and `val/acc` are not typos of `val/accuracy`, but they are what people write for it.
  const near =
    nearest(monitor, known) ?? nearest(`val/${monitor}`, known) ?? known.find((name) => name.startsWith(monitor));
  const declared = `If a hook of yours logs it, declare that there: \`logs: ["${monitor}"]\``;
  return new OptionError(
    `${shown(watcher)}, but nothing provides that metric.${near === undefined ? "" : ` Did you mean \`${near}\`?`} Known metrics: ${known.join(", ")}. ${declared}${kind === "hook" ? ", or set `strict: false`" : ""}.`,
  );
}
