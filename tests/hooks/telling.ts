// Options with which built-ins have something to remember, and what of a run can be compared with another.
import { huber, l1 } from "hookline/nn";

/** Options with which a hook has something to remember, one run for each; the rest run with the least they take. */
export const TELLING: Readonly<Record<string, readonly object[]>> = {
  accumulateSchedule: [
    { schedule: [{ from: "1 epoch", accumulate: 1 }] },
    {
      schedule: [
        { from: "3 steps", accumulate: 1 },
        { from: "8 samples", accumulate: 3 },
      ],
    },
  ],
  customStep: [
    {
      from: "2 steps",
      until: "4 steps",
      update: (params: Record<string, { mul(k: number): unknown }>) =>
        Object.fromEntries(Object.entries(params).map(([name, param]) => [name, param.mul(0.9)])),
    },
  ],
  earlyStopping: [
    { restoreBest: true, patience: 9 },
    { restoreBest: true, mode: "max", patience: 2 },
    { checkOn: "step", monitor: "train/loss", patience: 4, minDelta: 1e9 },
    { restoreBest: "checkpoint", mode: "max", patience: 9 },
  ],
  ema: [
    { decay: 0.5, warmup: true },
    { decay: 0.8, every: "1 epoch", apply: "end" },
  ],
  freeze: [
    { params: "0.", until: "2 steps" },
    { params: "0.", from: "3 steps", until: "2 epochs" },
    {
      params: undefined,
      schedule: [
        { params: "0.", until: "1 epoch" },
        { params: "bias", until: "3 steps" },
      ],
    },
  ],
  lossSchedule: [
    { schedule: [{ from: "1 epoch", loss: l1() }] },
    {
      schedule: [
        { from: "3 steps", loss: l1() },
        { from: "12 samples", loss: huber() },
      ],
    },
  ],
  lossSpike: [
    { window: 4, minHistory: 3, factor: 1.01 },
    { window: 4, minHistory: 3, factor: 1.01, action: "lowerLr", cooldown: 1 },
    { window: 4, minHistory: 3, factor: 1.01, action: "rollback", cooldown: 1 },
  ],
  nanGuard: [{}, { action: "skip" }],
  swa: [{ from: "1 steps", every: 1, apply: "eval" }, { from: "1 epoch" }],
};

/** Speeds and loads are those of the machine at the time, and what has been sent so far those of the network. */
const measured = /^(?:perf|system|gpu|s3Upload)\//;

/** The metrics that are the same in every run of the same seed. */
export const repeatable = (metrics: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(metrics).filter(([name]) => !measured.test(name)));
