// A study without training: trials follow given curves on several workers, and a scheduler decides about them.
import { Rng } from "../../src/data/random.ts";
import type { Decision, Params, Report, Scheduler, StudyView, TrialRecord, TrialStatus } from "../../src/tune/types.ts";

interface SimulatedTrial {
  number: number;
  params: Params;
  status: TrialStatus;
  reports: Report[];
  result: Report["values"] | undefined;
}

export interface Simulation {
  readonly scheduler: Scheduler;
  readonly study: StudyView;
  readonly trials: number;
  readonly maxSteps: number;
  readonly workers: number;
  /** The loss of a trial at a step; undefined: it fails there. */
  readonly loss: (number: number, step: number, params: Params) => number | undefined;
  readonly params?: (number: number) => Params;
}

export interface Simulated {
  readonly trials: readonly TrialRecord[];
  /** How many steps were run in all. */
  readonly steps: number;
  readonly decisions: readonly { readonly trial: number; readonly step: number; readonly decision: Decision }[];
}

/** Steps take a little more or less time, so that trials overtake each other; the same every time. */
export function simulate({ scheduler, study, trials: total, maxSteps, workers, loss, params }: Simulation): Simulated {
  const trials: SimulatedTrial[] = [];
  const decisions: Simulated["decisions"][number][] = [];
  const resumable: number[] = [];
  const clock = new Rng(workers, total);
  const busy: { trial: SimulatedTrial; until: number }[] = [];
  let [time, steps] = [0, 0];

  const start = (trial: SimulatedTrial): void => {
    trial.status = "running";
    busy.push({ trial, until: time + 0.5 + clock.next() });
  };
  const fill = (): void => {
    while (busy.length < workers) {
      const next = resumable.shift();
      if (next !== undefined) start(trials[next]!);
      else if (trials.length < total) {
        const number = trials.length;
        trials.push({ number, params: params?.(number) ?? {}, status: "waiting", reports: [], result: undefined });
        start(trials[number]!);
      } else return;
    }
  };
  /** One step of one trial; false when it leaves its worker. */
  const advance = (trial: SimulatedTrial): boolean => {
    const step = (trial.reports.at(-1)?.step ?? 0) + 1;
    const value = loss(trial.number, step, trial.params);
    steps++;
    if (value === undefined) {
      trial.status = "failed";
      return false;
    }
    const report = { step, values: { loss: value } };
    trial.reports.push(report);
    trial.result = report.values;
    const decision = scheduler.decide(trial, report, trials, study);
    if (decision.kind !== "continue") decisions.push({ trial: trial.number, step, decision });
    if (decision.kind === "exploit") trial.params = decision.params;
    if (decision.kind === "prune") trial.status = "pruned";
    else if (decision.kind === "pause") trial.status = "paused";
    else if (step === maxSteps) trial.status = "completed";
    return trial.status === "running";
  };

  fill();
  while (busy.length > 0) {
    busy.sort((a, b) => a.until - b.until);
    const turn = busy.shift()!;
    time = turn.until;
    if (advance(turn.trial)) busy.push({ trial: turn.trial, until: time + 0.5 + clock.next() });
    for (const number of scheduler.resume?.(trials, study) ?? []) {
      trials[number]!.status = "waiting";
      resumable.push(number);
    }
    for (const number of scheduler.drop?.(trials, study) ?? []) trials[number]!.status = "pruned";
    fill();
  }
  return { trials, steps, decisions };
}
