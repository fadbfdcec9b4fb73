// hookline resume: goes on with a run, as its directory says it was begun.
import { thisProcess } from "../checkpoint/process-mark.ts";
import { buildExperiment } from "../experiment/build/build-experiment.ts";
import { readResults } from "../experiment/results-file.ts";
import { UsageError } from "./lib/exit.ts";
import { typed } from "./lib/hints.ts";
import { readRecord } from "./lib/record.ts";
import { recordable, withoutSecrets } from "../experiment/config/recordable.ts";
import { checkJoining } from "./lib/joining.ts";
import { isMainRank } from "./lib/ranks.ts";
import { recordedConfig } from "./lib/recorded-config.ts";
import { nothingLeft } from "./lib/nothing-left.ts";
import { runExperiment } from "./lib/run-experiment.ts";
import { checkNobodyThere } from "./lib/run-place.ts";
import { shownPath } from "./lib/shown-path.ts";

interface Flags {
  readonly set?: readonly string[];
  readonly quiet?: boolean;
  readonly json?: boolean;
}

export async function run(given: string, { set = [], quiet, json }: Flags): Promise<number> {
  const { runDir, record, doc, options } = await prepare(given, set);
  const overrides = [...record.overrides, ...set.map(withoutSecrets)];
  const changed = { ...record, raw: recordable(doc), overrides, process: thisProcess() };
  const hooks = [...(options.hooks ?? []), ...(quiet ? [] : [nothingLeft()])];
  return runExperiment({ options: { ...options, hooks }, runDir, record: changed, resume: true, quiet, json });
}

export async function check(given: string, { set = [] }: Flags): Promise<void> {
  const { options } = await prepare(given, set);
  checkJoining(options);
}

async function prepare(given: string, set: readonly string[]) {
  const runDir = shownPath(given);
  const record = readRecord(runDir);
  const saved = await readResults(runDir);
  if (saved?.status === "completed")
    throw new UsageError(`The run in ${runDir} is complete. \`${typed("train")}\` begins another.`);
  if (isMainRank()) checkNobodyThere(runDir);
  const doc = await recordedConfig(runDir, record, set);
  // Hooks and loggers that need something from outside are the main rank's alone.
  const options = await buildExperiment(doc, { forRun: isMainRank() });
  return { runDir, record, doc, options };
}
