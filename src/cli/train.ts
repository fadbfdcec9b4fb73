// hookline train: from a config to a trained model.
import { resolve } from "node:path";
import { buildExperiment } from "../experiment/build/build-experiment.ts";
import { Experiment } from "../experiment/experiment.ts";
import { readConfig } from "../experiment/config/read-config.ts";
import { checkKind, findConfig, overridesOf, type Shortcuts } from "./lib/config-file.ts";
import { EXIT } from "./lib/exit.ts";
import { keepStdoutFree, print, printJson } from "./lib/output.ts";
import { describePlan, planOf } from "./lib/plan.ts";
import { newRecord } from "./lib/record.ts";
import { checkJoining } from "./lib/joining.ts";
import { isMainRank } from "./lib/ranks.ts";
import { runExperiment } from "./lib/run-experiment.ts";
import { checkRoom, makeRoom } from "./lib/run-place.ts";
import { shownPath } from "./lib/shown-path.ts";

interface Flags extends Shortcuts {
  readonly set?: readonly string[];
  readonly fresh?: boolean;
  readonly dryRun?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

export async function run(given: string | undefined, flags: Flags): Promise<number | void> {
  const { fresh = false, dryRun, quiet, json } = flags;
  const { doc, overrides, options, runDir } = await prepare(given, flags);
  if (dryRun) {
    const giveStdoutBack = keepStdoutFree();
    const found = await new Experiment({ ...options, runDir }).preflight().finally(giveStdoutBack);
    const plan = planOf(doc, options, runDir, found);
    return json ? printJson(plan) : print(describePlan(plan));
  }
  if (isMainRank()) await makeRoom(runDir, fresh);
  const record = newRecord(runDir, options.name ?? "experiment", doc, overrides);
  return runExperiment({ options, runDir, record, resume: false, quiet, json });
}

/** A dry run needs no other processes. */
export async function check(given: string | undefined, flags: Flags): Promise<number | void> {
  if (flags.dryRun) return (await run(given, flags)) ?? EXIT.ok;
  const { options, runDir } = await prepare(given, flags);
  await checkRoom(runDir, flags.fresh ?? false);
  checkJoining(options);
}

async function prepare(given: string | undefined, flags: Flags) {
  // A path in a config is relative to its project, one on the command line to where that is typed.
  const place = flags.runDir === undefined ? undefined : resolve(flags.runDir);
  const overrides = overridesOf(flags.set, { ...flags, runDir: place });
  const doc = await readConfig(findConfig(given), { set: overrides });
  checkKind("experiment", doc);
  // Hooks and loggers that need something from outside are the main rank's alone.
  const options = await buildExperiment(doc, { forRun: !flags.dryRun && isMainRank() });
  return { doc, overrides, options, runDir: shownPath(options.runDir!) };
}
