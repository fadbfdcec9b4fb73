// From a sweep that has been read to the options of a Study. Everything is checked before anything runs.
import { OptionError } from "../../core/errors.ts";
import { isMap } from "../../experiment/build/is-map.ts";
import { prepareComponent, rulesOf } from "../../experiment/build/component.ts";
import { prepareOptions, written } from "../../experiment/build/options.ts";
import { Problems } from "../../experiment/build/problems.ts";
import { FILE_KEYS } from "../../experiment/build/rules.ts";
import { isModuleSpecifier } from "../../experiment/config/modules.ts";
import type { Kind } from "../../experiment/registry/component.ts";
import { KINDS } from "../../experiment/registry/kinds.ts";
import { builtin } from "../../platform/builtin.ts";
import { loadTrial } from "../runners/load-trial.ts";
import type { Runner } from "../runners/runner.ts";
import type { Space } from "../space/space.ts";
import { planStudy, type StudyOptions, type StudyPlan } from "../study-options.ts";
import { checkExperiment } from "./check-experiment.ts";
import type { SweepDocument } from "./read-sweep.ts";
import { SWEEP_FILE } from "./record-file.ts";
import { SWEEP_CHECKS } from "./rules.ts";
import { sweepHooks } from "./sweep-hooks.ts";
import { readSpace } from "./sweep-space.ts";
import { trainingHooks } from "./training-hooks.ts";

type Paths = ReturnType<typeof process.getBuiltinModule<"node:path">>;
type Map = Readonly<Record<string, unknown>>;
type Made = StudyOptions<Space> & { readonly experiment?: unknown };

/** Made here, since they are given what no config says: the space, the seed, the directory. */
const GIVEN: readonly Kind[] = ["sampler", "scheduler", "runner"];
const DEFAULT_NAME = "study";

/**
 * The options of the study that a sweep describes; it has a directory, `runs/<name>` by default.
 * @throws ConfigError with what is wrong, each at its place
 */
export async function buildSweep(sweep: SweepDocument): Promise<StudyOptions<Space> & { readonly dir: string }> {
  const { doc } = sweep;
  const problems = new Problems(doc);
  const config = written(doc.value);
  const space = config["space"] === undefined ? undefined : readSpace(problems, config["space"]);
  const skipped: readonly string[] = ["space", "hooks", ...GIVEN, ...FILE_KEYS];
  const name = typeof config["name"] === "string" ? config["name"] : DEFAULT_NAME;
  const rest = Object.entries({ dir: `runs/${name}`, ...config }).filter(([key]) => !skipped.includes(key));
  const rules = { owner: "sweep", checks: SWEEP_CHECKS, files: { dir: "write" } as const };
  const { recipes } = await prepareOptions(problems, rules, Object.fromEntries(rest), []);
  if (config["space"] === undefined) problems.add([], "missing `space`: the parameters to search.");
  checkTrials(problems, config);
  const directory = doc.directoryOf(["trial"]);
  const parts = await partsOf(problems, config, space, directory);
  problems.check();
  const made = Object.fromEntries(Object.entries(recipes).map(([key, recipe]) => [key, recipe.make()]));
  const { experiment: _experiment, ...options } = { space: space!, ...parts, ...made } as Made;
  const trial = await trialOf(problems, options, directory);
  const built = { ...options, dir: options.dir!, trial };
  let plan: StudyPlan | undefined;
  try {
    plan = planStudy(built);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    problems.add(error.option === undefined ? [] : [error.option], error.message, error);
  }
  problems.check();
  if (sweep.experiment) await checkExperiment(sweep, space!, plan!.objectives, await trainingHooks(plan!, directory));
  return built;
}

async function partsOf(
  problems: Problems,
  config: Map,
  space: Space | undefined,
  directory: string,
): Promise<Pick<StudyOptions, "sampler" | "scheduler" | "runner" | "hooks">> {
  const parts: Record<string, unknown> = {};
  // Without a space there is no sampler to make, and the space's error has been told.
  for (const kind of space ? GIVEN : []) {
    if (config[kind] === undefined) continue;
    const value = await withSeed(kind, config[kind], config["seed"]);
    const recipe = await prepareComponent(problems, kind, value, [kind], { space, directory });
    const made = recipe && (await problems.attemptAsync([kind], () => recipe.make()));
    if (made !== undefined) parts[kind] = made;
  }
  const isHere = (parts["runner"] as Runner | undefined)?.name === "inProcess";
  if (config["hooks"] !== undefined)
    parts["hooks"] = await sweepHooks(problems, config["hooks"], isHere ? undefined : directory);
  return parts;
}

function checkTrials(problems: Problems, config: Map): void {
  const [trial, experiment] = [config["trial"], config["experiment"]];
  if (trial !== undefined && experiment !== undefined)
    problems.add(["trial"], "A sweep has a `trial` or an `experiment`, not both.");
  if (trial === undefined && experiment === undefined)
    problems.add(
      [],
      "missing `trial` (./trial.ts#train), or `experiment`: the config of the experiment to sweep over.",
    );
}

/** The study's seed is that of its parts, unless they have their own. */
async function withSeed(kind: Kind, value: unknown, seed: unknown): Promise<unknown> {
  const component = typeof value === "string" ? { use: value } : value;
  if (seed === undefined || !isMap(component)) return value;
  const { use } = component;
  if (typeof use !== "string" || isModuleSpecifier(use)) return value;
  const components = await KINDS[kind].load();
  const known = Object.hasOwn(components, use) ? components[use] : undefined;
  return known && Object.hasOwn(rulesOf(known).checks, "seed") ? { seed, ...component } : value;
}

/** As its runner takes it: by name, or as a function in this process. What has no such export is told now. */
async function trialOf(
  problems: Problems,
  { dir, trial, runner }: StudyOptions<Space>,
  directory: string,
): Promise<StudyOptions<Space>["trial"]> {
  const isHere = runner?.name === "inProcess";
  const { trial: named } = problems.doc.value;
  if (named === undefined) {
    const record = `${builtin<Paths>("A sweep", "node:path").resolve(dir!)}/${SWEEP_FILE}`;
    return isHere ? async (job) => (await loadTrial(record, directory))(job as never) : record;
  }
  if (typeof named !== "string") return trial;
  const found = await problems.attemptAsync(["trial"], () => loadTrial(named, directory));
  return isHere ? (found as StudyOptions<Space>["trial"]) : named;
}
