// Records of trials as samplers and schedulers see them, without a study.
import type { TrialInfo } from "../../src/core/outer-events.ts";
import type { SpaceTree } from "../../src/tune/space/parameters.ts";
import { Space } from "../../src/tune/space/space.ts";
import type { Params, Report, Sampler, StudyView, TrialRecord } from "../../src/tune/types.ts";

/** A study of one loss. */
export const minimise = (space: Space | SpaceTree, totalTrials?: number): StudyView => ({
  space: Space.of(space),
  objectives: [{ metric: "loss", mode: "min" }],
  totalTrials,
});

export const completed = (number: number, params: Params, loss: number): TrialRecord => ({
  number,
  params,
  status: "completed",
  reports: [],
  result: { loss },
});

/** A trial that has reported these losses at steps 1, 2, … */
export function reported(
  number: number,
  losses: readonly number[],
  status: TrialRecord["status"] = "running",
): TrialRecord {
  const reports: Report[] = losses.map((loss, i) => ({ step: i + 1, values: { loss } }));
  return { number, params: {}, status, reports, result: reports.at(-1)?.values };
}

/** Runs a sampler against a function of the params, one trial after another. */
export function minimiseWith(
  sampler: Sampler,
  space: Space,
  loss: (params: Params) => number,
  trials: number,
): readonly TrialRecord[] {
  const records: TrialRecord[] = [];
  for (let number = 0; number < trials; number++) {
    const params = sampler.suggest(number, records, minimise(space));
    records.push(completed(number, params, loss(params)));
  }
  return records;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[Math.ceil(sorted.length / 2) - 1]! + sorted[Math.floor(sorted.length / 2)]!) / 2;
}

/** A trial as a study shows it. */
export const trialInfo = (number: number, given: Partial<TrialInfo> = {}): TrialInfo => ({
  number,
  params: {},
  status: "completed",
  reports: [],
  result: undefined,
  reason: "",
  attempts: 1,
  failures: 0,
  checkpoint: undefined,
  stash: {},
  runDir: undefined,
  touched: false,
  ...given,
});
