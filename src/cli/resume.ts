// hookline resume: goes on with a run, as its directory says it was begun.
import { thisProcess } from "../checkpoint/process-mark.ts";
import { buildExperiment } from "../experiment/build/build-experiment.ts";
import { readResults } from "../experiment/results-file.ts";
import { UsageError } from "./lib/exit.ts";
import { readRecord } from "./lib/record.ts";
import { recordable, withoutSecrets } from "../experiment/config/recordable.ts";
import { isMainRank } from "./lib/ranks.ts";
import { recordedConfig } from "./lib/recorded-config.ts";
import { runExperiment } from "./lib/run-experiment.ts";
import { checkNobodyThere } from "./lib/run-place.ts";
import { shownPath } from "./lib/shown-path.ts";

interface Flags {
  readonly set?: readonly string[];
  readonly quiet?: boolean;
  readonly json?: boolean;
}

export async function run(given: string, { set = [], quiet, json }: Flags): Promise<number> {
  const runDir = shownPath(given);
  const record = readRecord(runDir);
  const saved = await readResults(runDir);
  if (saved?.status === "completed")
    throw new UsageError(`The run in ${runDir} is complete. \`hookline train\` begins another.`);
  if (isMainRank()) checkNobodyThere(runDir);
  const doc = await recordedConfig(runDir, record, set);
  const options = await buildExperiment(doc);
  const overrides = [...record.overrides, ...set.map(withoutSecrets)];
  const changed = { ...record, raw: recordable(doc), overrides, process: thisProcess() };
  return runExperiment({ options, runDir, record: changed, resume: true, quiet, json });
}
