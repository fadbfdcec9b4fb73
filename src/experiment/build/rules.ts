// What may stand in a config, and in each of its `models`: the options of an Experiment under their own names.
import type { Check } from "../../core/options.ts";
import { DATA_LOADER_CHECKS } from "../../data/data-loader.ts";
import { EXPERIMENT_CHECKS } from "../plan.ts";

type Checks = Readonly<Record<string, Check>>;

const without = (checks: Checks, ...keys: readonly string[]): Checks =>
  Object.fromEntries(Object.entries(checks).filter(([key]) => !keys.includes(key)));

/** Called when their time comes, with their options and what the experiment knows by then. */
export const FUNCTIONS: readonly string[] = ["loaders", "evaluate"];

/** What is recorded of a model is what its config says. */
export const CONFIG_CHECKS: Checks = without(EXPERIMENT_CHECKS, "params", "config");

/** One model and how it is trained; its data comes from the experiment. */
export const PLAN_CHECKS: Checks = without(CONFIG_CHECKS, "name", "runDir", "data", "split", "loader", "models");

/** How arrays become batches: a DataLoader's options, except what only code can say, and one for evaluations. */
export const LOADER_CHECKS: Checks = {
  ...without(DATA_LOADER_CHECKS, "seed", "collate"),
  evalBatchSize: DATA_LOADER_CHECKS.batchSize,
};

/** Keys of a file that are not of the experiment: for editors, and for whoever read the file. */
export const FILE_KEYS: readonly string[] = ["$schema", "extends"];
