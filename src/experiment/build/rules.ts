// What may stand in a config, and in each of its `models`: the options of an Experiment under their own names.
import { optionTable, type Check } from "../../core/options.ts";
import { DataLoader } from "../../data/data-loader.ts";
import { planModels } from "../plan.ts";
import { listOrNamed, one, oneOrList, oneOrNamed, type Parts } from "../registry/component.ts";

type Checks = Readonly<Record<string, Check>>;

const without = (checks: Checks, ...keys: readonly string[]): Checks =>
  Object.fromEntries(Object.entries(checks).filter(([key]) => !keys.includes(key)));

const experiment = optionTable(planModels).checks;

/** Called when their time comes, with their options and what the experiment knows by then. */
export const FUNCTIONS: readonly string[] = ["loaders", "evaluate"];

/** What is recorded of a model is what its config says. */
export const CONFIG_CHECKS: Checks = without(experiment, "params", "config");

/** One model and how it is trained; its data comes from the experiment. */
export const PLAN_CHECKS: Checks = without(CONFIG_CHECKS, "name", "runDir", "data", "split", "loader", "models");

/** How arrays become batches: a DataLoader's options, except what only code can say, and one for evaluations. */
const loader = optionTable((data: never, options: never) => new DataLoader(data, options), 1).checks;
export const LOADER_CHECKS: Checks = { ...without(loader, "seed", "collate"), evalBatchSize: loader.batchSize! };

export const PLAN_PARTS: Parts = {
  model: one("model"),
  loss: one("loss"),
  metrics: listOrNamed("metric"),
  optimizer: oneOrNamed("optimizer"),
  schedule: one("schedule"),
  hooks: oneOrList("hook"),
};

export const CONFIG_PARTS: Parts = { data: one("data"), split: one("split"), ...PLAN_PARTS };

/** Keys of a file that are not of the experiment: for editors, and for whoever read the file. */
export const FILE_KEYS: readonly string[] = ["$schema", "extends"];
