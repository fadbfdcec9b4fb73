// Traces one batch through model, loss and metrics without computing anything, so that data that does not fit the model
// is found before the first step.
import { makeJaxpr, numpy as np } from "@jax-js/jax";
import { toBatch } from "../core/arrays.ts";
import type { AnyMetric, HostBatch, Tensor, TensorBatch, Tensors } from "../core/model.ts";
import { TRAIN_PROBE_EVENTS, type Probe } from "../core/inspection.ts";
import type { HookRegistry } from "../core/registry/registry.ts";
import { keyStream } from "../nn/key.ts";
import { noBatches } from "../core/loop/evaluate.ts";
import type { PreviewedLoader } from "../data/loader-set.ts";
import type { OptimizerSet } from "./optimizers.ts";
import { type Initial, specsOf, type TensorSpecs } from "./initial.ts";
import type { Problem } from "./problem.ts";
import { PointCollector } from "./programs/probes.ts";
import { RowsLayout } from "./metrics/rows-layout.ts";
import { sumsLayouts, type SumsLayout } from "./programs/sums.ts";
import { isTrained, valueNames } from "./metrics/metric-kinds.ts";
import { explain } from "./programs/run.ts";
import { OptionError } from "../core/errors.ts";
import type { Hook } from "../core/hook.ts";
import { isOfEvaluation, monitorValue, nearest, selectNames } from "../core/names.ts";
import type { Schedule } from "../core/optimizer.ts";

interface TracedParts {
  readonly problem: Problem;
  readonly initial: Pick<Initial, "params" | "state">;
  readonly metrics: Readonly<Record<string, AnyMetric>>;
  readonly hooks: HookRegistry;
}

/** What `preflight` found. */
export interface Preflight {
  /** The first batch of each loader, by its name. */
  readonly batches: Readonly<Record<"train" | "eval", Readonly<Record<string, HostBatch>>>>;
  /** Metrics that hooks and schedules can watch, besides those that hooks log. */
  readonly metrics: readonly string[];
  /** A table of the model's parameters. */
  readonly parameters: string;
}

interface NamedLoader {
  readonly name: string;
  readonly loader: PreviewedLoader;
}

/** Traces the first batch of each of these loaders. */
export async function traceLoaders(
  parts: TracedParts,
  loaders: { readonly train: readonly NamedLoader[]; readonly eval: readonly NamedLoader[] },
  seed: number,
): Promise<Preflight["batches"]> {
  const batches: Record<Phase, Record<string, HostBatch>> = { train: {}, eval: {} };
  for (const phase of ["train", "eval"] as const) {
    for (const { name, loader } of loaders[phase]) {
      const batch = await loader.preview(0, seed);
      if (batch !== undefined) batches[phase][name] = traceBatch(parts, phase, name, batch);
      // An empty training loader is an error of the epoch, unless others make up for it.
      else if (phase === "eval") throw noBatches(name);
    }
  }
  return batches;
}

type Phase = "train" | "eval";

/** Checks that the model, the loss and the metrics accept a batch of this loader; returns the batch, normalized. */
function traceBatch(parts: TracedParts, phase: Phase, loader: string, given: unknown): HostBatch {
  const host = toBatch(given, () => `Loader \`${loader}\``);
  // A hook may put another batch in its place.
  if (parts.hooks.listens(...REPLACED_IN[phase])) return host;
  try {
    const { params, state } = parts.initial;
    const base = Object.fromEntries(parts.problem.base?.tensors ?? []);
    const sums = sumsLayouts(parts.metrics)[phase];
    const numbers = [np.zeros([sums.size]), np.zeros([]), np.zeros([2], { dtype: np.uint32 })];
    const trace = makeJaxpr(passOf(parts, sums, phase, loader) as (...args: unknown[]) => never);
    const program = trace(
      ...([standIns({ ...params, ...base }), standIns(state), standIns(specsOf(host)), ...numbers] as never[]),
    );
    (program as unknown as { jaxpr: { dispose(): void } }).jaxpr.dispose();
  } catch (error) {
    throw explain(error, { what: phase === "train" ? "step" : "evaluation", loader, host });
  }
  return host;
}

const REPLACED_IN = { train: ["batchBegin", "beforeForward"], eval: ["evalBatchBegin"] } as const;

/** The forward pass, the loss and the metrics of one batch. Gradients and updates follow from these. */
function passOf({ problem, hooks, metrics }: TracedParts, sums: SumsLayout, phase: Phase, loader: string) {
  const train = phase === "train";
  const rows = new RowsLayout(metrics);
  const probes: readonly Probe[] = train ? hooks.probing(...TRAIN_PROBE_EVENTS) : hooks.probing("evalBatchEnd");
  const replacements = train ? [] : hooks.replacing(loader);
  return (params: Tensors, state: Tensors, batch: TensorBatch, total: Tensor, weight: Tensor, key: Tensor): Tensor => {
    const collector = new PointCollector({ probes, replacements });
    // The collector may run the pass twice, and every pass consumes its arguments.
    const run = () =>
      problem.forward(refs(params), batch, { train, key: keyStream(key), state: refs(state), loader }, undefined);
    const forward = collector.forward(run);
    collector.groups(forward.points);
    if (!train) rows.ofBatch(forward.outputs, batch);
    return total.add(sums.ofBatch(forward.loss, weight, forward.outputs, batch));
  };
}

const refs = (tensors: Tensors): Tensors =>
  Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, tensor.ref]));

/** Arrays of the same shapes and types that are never computed. */
const standIns = (specs: TensorSpecs): Tensors =>
  Object.fromEntries(
    Object.entries(specs).map(([name, { shape, dtype }]) => [name, np.zeros([...shape], { dtype: dtype as never })]),
  );

// Rejects monitors on metrics that nothing provides, before the first step.

/** A hook or schedule that cannot do without a metric. */
export interface Watcher {
  readonly kind: "hook" | "schedule";
  readonly name: string;
  readonly monitor: string;
}

/** What a run has to offer to them. */
interface ProvidedMetrics {
  /** Names of the metrics of training and of each evaluation. */
  readonly metrics: readonly string[];
  /** What hooks declare in `logs`; `*` stands for any text. */
  readonly logs: readonly string[];
  readonly evaluates: boolean;
}

/** The names of the metrics of training and of each evaluation. */
export function metricNames(metrics: Readonly<Record<string, AnyMetric>>, evals: readonly string[]): string[] {
  const all = Object.entries(metrics);
  const trained = all.filter(([, metric]) => isTrained(metric));
  const feeds = [["train", trained] as const, ...evals.map((name) => [name, all] as const)];
  return feeds.flatMap(([feed, own]) =>
    ["loss", ...own.flatMap(([name, metric]) => valueNames(name, metric))].map((name) => `${feed}/${name}`),
  );
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

/** Checks what the enabled hooks and the schedules of a trainer watch. */
export function checkAllMonitors(
  registry: HookRegistry,
  optimizers: OptimizerSet,
  metrics: readonly string[],
  evaluates: boolean,
): void {
  const schedules = optimizers.slots.flatMap(({ schedule }) => schedule ?? []);
  const enabled = registry.list().filter((hook) => hook.enabled);
  const hooks = enabled.map(({ name }) => registry.get(name)!);
  checkMonitors(watchersOf(hooks, schedules), { metrics, logs: hooks.flatMap(({ logs = [] }) => logs), evaluates });
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
  const known = [...metrics, ...logs];
  const exact = known.filter((name) => !name.includes("*"));
  const patterns = known.filter((name) => name.includes("*"));
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
