// The options of a study, checked, with defaults filled in.
import { OptionError } from "../core/errors.ts";
import type { Hook } from "../core/hook.ts";
import { directionOf } from "../core/names.ts";
import { type Check, checkOptions, is, one, oneOrList, show } from "../core/options.ts";
import type { HookSource } from "./module-hooks.ts";
import { inProcess } from "./runners/in-process.ts";
import { local } from "./runners/local.ts";
import type { Runner } from "./runners/runner.ts";
import { tpe } from "./samplers/tpe.ts";
import { none } from "./schedulers/none.ts";
import type { ParamsOf, SpaceTree } from "./space/parameters.ts";
import { Space } from "./space/space.ts";
import type { TrialFunction } from "./trial.ts";
import type { Objective, Params, Sampler, Scheduler, StudyView } from "./types.ts";

/** A metric by its name, or with its mode. By default "min" or "max" is guessed from the name, as monitors do. */
export type ObjectiveOption = string | { readonly metric: string; readonly mode?: "min" | "max" };

/** The params that trials of a space get. */
export type TrialParams<S> = S extends Space ? Params : ParamsOf<S>;

/** Options of `Study`. */
export interface StudyOptions<S extends Space | SpaceTree = SpaceTree> {
  /** Default `study`. */
  readonly name?: string;
  readonly space: S;
  /** A function; for trials in other processes a module's export, `./trial.ts#train`. */
  readonly trial?: TrialFunction<TrialParams<S>> | string;
  /** Default: tpe with the study's seed. */
  readonly sampler?: Sampler;
  /** Default: none, so that every trial runs to its end. */
  readonly scheduler?: Scheduler;
  /** Default `val/loss`. */
  readonly objective?: ObjectiveOption;
  /** Several, instead of one. Schedulers use the first. */
  readonly objectives?: readonly ObjectiveOption[];
  /** The most trials. A grid ends by itself. */
  readonly trials?: number;
  /** Seconds, including earlier controllers of the study; then running trials are interrupted. */
  readonly seconds?: number;
  /** Steps that all trials report together. */
  readonly steps?: number;
  /** Trials at once. Default: the runner's number, or 1. */
  readonly concurrency?: number;
  /** Default 0. */
  readonly seed?: number;
  /** How often a failed trial is retried, from its last checkpoint. Default 1. */
  readonly retries?: number;
  /** The study ends after this many consecutive trials failed with the same error. Default 3. */
  readonly maxEqualFailures?: number;
  /** The directory for the journal and the trials' directories. Default: none, so that the study ends with its process. */
  readonly dir?: string;
  /** Hooks named by their module's export are made in this process, and in those of the trials: `trial.hooks`. */
  readonly hooks?: readonly (Hook | HookSource)[];
  /** Default: inProcess() for a function, local() for a module's export. */
  readonly runner?: Runner;
  /** Ends cleanly on SIGINT and SIGTERM. Default true. */
  readonly signals?: boolean;
  /** Where warnings go. Default: the console. */
  readonly warn?: (message: string) => void;
}

export interface StudyPlan extends StudyView {
  readonly name: string;
  readonly trial: TrialFunction<never> | string | undefined;
  readonly sampler: Sampler;
  readonly scheduler: Scheduler;
  readonly budget: Pick<StudyOptions, "trials" | "seconds" | "steps">;
  readonly concurrency: number;
  readonly seed: number;
  readonly retries: number;
  readonly maxEqualFailures: number;
  readonly dir: string | undefined;
  readonly hooks: readonly Hook[];
  readonly hookSources: readonly HookSource[];
  readonly runner: Runner;
  readonly signals: boolean;
}

const hasMethods =
  (...names: readonly string[]) =>
  (value: unknown): boolean =>
    is.object.test(value) && names.every((name) => typeof (value as Record<string, unknown>)[name] === "function");
const objective: Check = {
  expected: "a metric's name, or { metric, mode }",
  schema: {
    anyOf: [
      { type: "string", minLength: 1 },
      {
        type: "object",
        properties: { metric: { type: "string", minLength: 1 }, mode: { enum: ["min", "max"] } },
        required: ["metric"],
      },
    ],
  },
  test: (value) =>
    is.name.test(value) ||
    (is.object.test(value) &&
      is.name.test((value as { metric?: unknown }).metric) &&
      [undefined, "min", "max"].includes((value as { mode?: "min" }).mode)),
};

export const STUDY_CHECKS = {
  name: is.name,
  space: is.object,
  trial: is.or(is.function, is.name),
  sampler: {
    expected: "a sampler: tpe(space), random(space), grid(space) or sobol(space)",
    test: hasMethods("suggest"),
    holds: one("sampler"),
  },
  scheduler: {
    expected: "a scheduler: none(), median(), asha(), hyperband() or pbt()",
    test: hasMethods("decide"),
    holds: one("scheduler"),
  },
  objective,
  objectives: is.arrayOf(objective),
  trials: is.wholeFrom(1),
  seconds: is.positive,
  steps: is.positive,
  concurrency: is.wholeFrom(1),
  seed: is.whole,
  retries: is.wholeFrom(0),
  maxEqualFailures: is.wholeFrom(1),
  dir: is.pathToWrite,
  hooks: { ...is.array, holds: oneOrList("hook") },
  runner: {
    expected: "a runner: inProcess(), local() or bullmq()",
    test: hasMethods("open", "run", "close"),
    holds: one("runner"),
  },
  signals: is.boolean,
  warn: is.function,
};

export function planStudy<S extends Space | SpaceTree>(options: StudyOptions<S>): StudyPlan {
  checkOptions("Study", options, STUDY_CHECKS, ["space"]);
  const { name = "study", sampler: given, scheduler = none(), seed = 0, retries = 1, maxEqualFailures = 3 } = options;
  const { trials, seconds, steps, dir, signals = true } = options;
  const trial = options.trial as StudyPlan["trial"];
  const space = Space.of(options.space);
  const sampler = given ?? tpe(space, { seed });
  const ends = [trials, sampler.size].filter((count) => count !== undefined);
  if (ends.length === 0 && seconds === undefined && steps === undefined) {
    throw new OptionError("Study: it would never end. Set `trials`, `seconds` or `steps`.", { option: "trials" });
  }
  const runner = options.runner ?? (typeof trial === "string" ? local() : inProcess());
  return {
    name,
    space,
    trial,
    sampler,
    scheduler,
    objectives: objectivesOf(options),
    ...(ends.length > 0 && { totalTrials: Math.min(...ends) }),
    budget: { ...(trials !== undefined && { trials }), ...(seconds && { seconds }), ...(steps && { steps }) },
    concurrency: options.concurrency ?? runner.size ?? 1,
    seed,
    retries,
    maxEqualFailures,
    dir,
    hooks: (options.hooks ?? []).filter((hook): hook is Hook => !isSource(hook)),
    hookSources: (options.hooks ?? []).filter(isSource),
    runner,
    signals,
  };
}

const isSource = (hook: Hook | HookSource): hook is HookSource =>
  typeof hook === "string" || (is.object.test(hook) && typeof (hook as { use?: unknown }).use === "string");

function objectivesOf({
  objective: one,
  objectives,
}: Pick<StudyOptions, "objective" | "objectives">): readonly Objective[] {
  if (one !== undefined && objectives !== undefined)
    throw new OptionError("Study: give `objective` or `objectives`, not both.", { option: "objectives" });
  const all = objectives ?? [one ?? "val/loss"];
  if (all.length === 0)
    throw new OptionError(`Study: \`objectives\` is empty, got ${show(all)}`, { option: "objectives" });
  const full = all.map((each) => {
    const { metric, mode } = typeof each === "string" ? { metric: each, mode: undefined } : each;
    return { metric, mode: mode ?? directionOf(metric) };
  });
  const twice = full.find(({ metric }, i) => full.findIndex((other) => other.metric === metric) < i);
  if (twice)
    throw new OptionError(`Study: the objective \`${twice.metric}\` is given twice.`, { option: "objectives" });
  return full;
}
