// What a training is made of, as texts by name: ranks compare them before the first step. Values of parameters are not
// among them, since all ranks take the main one's. Functions are compared by their source: what they capture is unknown.
import { type TypedArray, toBatch } from "../core/arrays.ts";
import type { AnyMetric, Model } from "../core/model.ts";
import { isTrained } from "./metrics/metric-kinds.ts";
import type { ScheduleTime } from "../core/optimizer.ts";
import type { PreviewedLoader } from "../data/loader-set.ts";
import { type StartFacts, hashOf } from "../distributed/exchange.ts";
import type { DeviceState } from "./device-state.ts";
import type { OptimizerSet } from "./optimizers.ts";
import { type FitOptions, TRAINER_CHECKS, type TrainerOptions } from "./options.ts";
import { numberToJson } from "../runs/exact-json.ts";

/** Compared in a way of their own (below). */
const OWN_WAY = ["model", "optimizer", "schedule", "metrics", "train", "eval", "engine"] as const;
/** May differ from rank to rank. All other options are compared as values. */
const MAY_DIFFER = [
  ...(["tokens", "logEvery", "strategy", "runDir", "store", "save", "hooks", "shared", "experiment"] as const),
  ...(["signals", "signalGrace", "yieldEvery", "closeTimeout", "warn"] as const),
];
const NO_VALUES: ReadonlySet<string> = new Set<keyof TrainerOptions>([...OWN_WAY, ...MAY_DIFFER]);

/** What an option is where it is left out. */
const DEFAULTS: Partial<TrainerOptions> = {
  seed: 0,
  accumulate: 1,
  evalEvery: "1 epoch",
  evalAtStart: false,
  maxRollbacks: 3,
  lossWeights: {},
};

/** Steps at which schedules are compared: most of them differ early or at the end, if they differ. */
const SCHEDULE_STEPS = [0, 1, 2, 5, 10, 100, 1000];
const SCHEDULE_FRACTIONS = [0.1, 0.25, 0.5, 0.75, 0.95];

interface NamedLoader {
  readonly name: string;
  readonly loader: PreviewedLoader;
}

export interface StartParts {
  readonly options: TrainerOptions;
  readonly fit: FitOptions;
  readonly train: readonly NamedLoader[];
  readonly evals: readonly NamedLoader[];
  readonly optimizers: OptimizerSet;
  readonly device: DeviceState;
  /** Steps done so far. */
  readonly step: number;
  readonly totals: Pick<ScheduleTime, "totalSteps" | "totalEpochs">;
}

export async function startFacts(parts: StartParts): Promise<StartFacts> {
  const { options, fit, train, evals, optimizers, device, step, totals } = parts;
  const { metrics = {}, seed = 0 } = options;
  return {
    ...optionFacts({ ...options, ...fit }),
    ...(fit.resume !== undefined && { "`resume`": "one" }),
    "steps done": String(step),
    engine: device.engine.name,
    ...optimizerFacts(optimizers, totals),
    ...metricFacts(metrics),
    ...tensorFacts("parameter", device.params),
    ...tensorFacts("buffer", device.state),
    ...baseFacts(options.model),
    // Only before the first step: an epoch that is open, or resumed, must not lose its place in the data.
    ...(await loaderFacts(train, seed, step === 0 && fit.resume === undefined)),
    ...(await loaderFacts(evals, seed, step === 0)),
  };
}

/** How many batches each loader has and, where `looks`, what the first of them holds. */
export async function loaderFacts(loaders: readonly NamedLoader[], seed: number, looks: boolean): Promise<StartFacts> {
  const facts: Record<string, string> = {};
  for (const { name, loader } of loaders) {
    facts[`loader \`${name}\`, batches`] = String(loader.length ?? "an unknown number");
    const batch = looks ? await loader.preview(0, seed) : undefined;
    if (batch === undefined) continue;
    const arrays = Object.entries(toBatch(batch, () => `Loader \`${name}\``));
    facts[`loader \`${name}\`, first batch`] = arrays
      .map(([key, { data, shape, dtype }]) => `${key} ${dtype ?? typeOf(data)} [${shape.join(", ")}] #${digest(data)}`)
      .join(" and ");
  }
  return facts;
}

function optionFacts(options: TrainerOptions): StartFacts {
  const given: Record<string, unknown> = { ...DEFAULTS, ...options };
  const names = Object.keys(TRAINER_CHECKS).filter((name) => !NO_VALUES.has(name));
  return Object.fromEntries(
    names.flatMap((name) => (given[name] === undefined ? [] : [[`\`${name}\``, valueText(given[name])]])),
  );
}

function optimizerFacts(optimizers: OptimizerSet, totals: StartParts["totals"]): StartFacts {
  const facts: Record<string, string> = {};
  for (const { name, optimizer, groups, schedule } of optimizers.slots) {
    const add = (what: string, value: unknown): void =>
      void (facts[`optimizer \`${name}\`, ${what}`] = valueText(value));
    add("kind", optimizer.name);
    add("constants", optimizer.constants ?? {});
    if (optimizer.loader !== undefined) add("loader", optimizer.loader);
    groups.forEach((group, i) => {
      const where = groups.length === 1 ? "" : ` of group ${i}`;
      for (const [key, value] of Object.entries(group.option)) add(`${key}${where}`, value);
      add(`parameters${where}`, group.params);
    });
    if (!schedule) continue;
    add("schedule", schedule.name);
    for (const at of scheduleTimes(totals)) add(`schedule at step ${at.step}`, factorAt(schedule, at));
  }
  return facts;
}

function scheduleTimes(totals: StartParts["totals"]): ScheduleTime[] {
  const { totalSteps = Infinity, totalEpochs } = totals;
  const fractions = totalSteps === Infinity ? [] : SCHEDULE_FRACTIONS.map((part) => Math.floor(part * totalSteps));
  const steps = [...new Set([...SCHEDULE_STEPS.filter((step) => step < totalSteps), ...fractions])];
  const perEpoch = totalSteps / (totalEpochs ?? Number.NaN);
  return steps.map((step) => {
    const epoch = Number.isFinite(perEpoch) && perEpoch > 0 ? Math.floor(step / perEpoch) : step;
    return { step, epoch, totalSteps: totals.totalSteps, totalEpochs };
  });
}

/** A schedule that fails says so at the first step, with more to go by. */
function factorAt(schedule: { factor(at: ScheduleTime): number }, at: ScheduleTime): unknown {
  try {
    return schedule.factor(at);
  } catch {
    return "no factor";
  }
}

const metricFacts = (metrics: Readonly<Record<string, AnyMetric>>): StartFacts =>
  Object.fromEntries(
    Object.entries(metrics).map(([name, metric]) => [
      `metric \`${name}\``,
      valueText({ update: metric.update, compute: metric.compute, evalOnly: !isTrained(metric) }),
    ]),
  );

const tensorFacts = (kind: string, tensors: DeviceState["params"]): StartFacts =>
  Object.fromEntries(
    Object.entries(tensors).map(([name, { dtype, shape }]) => [
      `${kind} \`${name}\``,
      `${dtype} [${shape.join(", ")}]`,
    ]),
  );

/** The same files may have other paths on other machines. */
function baseFacts(model: TrainerOptions["model"]): StartFacts {
  const { base } = model as Model<never>;
  return base ? { "the model's frozen base, SHA-256": base.digest } : {};
}

function valueText(value: unknown): string {
  return typeof value === "function" ? functionText(value) : JSON.stringify(value, plainData);
}

function plainData(_: string, value: unknown): unknown {
  if (typeof value === "function") return functionText(value);
  return typeof value === "number" ? numberToJson(value) : value;
}

function functionText(fn: { readonly name?: string }): string {
  const source = new TextEncoder().encode(Function.prototype.toString.call(fn));
  return `a function${fn.name ? ` \`${fn.name}\`` : ""} of source #${digest(source)}`;
}

const digest = (data: TypedArray): string => hashOf(data).toString(16).padStart(14, "0");

const typeOf = (data: TypedArray): string => data.constructor.name.replace("Array", "").toLowerCase();
