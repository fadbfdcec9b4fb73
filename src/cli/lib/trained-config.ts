// The config that a run directory was trained with: as its record has it, or as the sweep that it is a trial of has it.
import { dirname, resolve } from "node:path";
import type { ConfigDocument } from "../../experiment/config/document.ts";
import { readStudy } from "../../tune/study-store.ts";
import { readRecord as readSweepRecord, recordedExperiment } from "../../tune/sweep/sweep-record.ts";
import { trialConfig } from "../../tune/sweep/trial-config.ts";
import { readRecord } from "./record.ts";
import { recordedConfig } from "./recorded-config.ts";

export async function trainedConfig(runDir: string): Promise<ConfigDocument> {
  return (await configOfTrial(runDir)) ?? recordedConfig(runDir, readRecord(runDir), []);
}

/** Undefined when the directory is no trial's. */
async function configOfTrial(runDir: string): Promise<ConfigDocument | undefined> {
  const study = dirname(resolve(runDir));
  const record = readSweepRecord(study);
  if (!record) return undefined;
  const trial = readStudy(study)?.trials.find(
    (one) => one.runDir !== undefined && resolve(one.runDir) === resolve(runDir),
  );
  return trial && trialConfig(study, record, await recordedExperiment(study, record), trial.params);
}
