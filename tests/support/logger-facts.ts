// What a logger tells its backends: a run, a record of a step, and an end; each with what a test wants otherwise.
import type { LogRecord, RunEnd, RunFacts } from "../../src/runs/types.ts";

export const runFacts = (more: Partial<RunFacts> = {}): RunFacts => ({
  dir: undefined,
  name: "a",
  id: "id-1",
  resumedAt: undefined,
  startedAt: 1000,
  hparams: {},
  about: {},
  totalSteps: undefined,
  ...more,
});

export const logRecord = (step: number, more: Partial<LogRecord> = {}): LogRecord => ({
  step,
  epoch: 0,
  time: 1000 + step,
  elapsed: step / 8,
  scalars: {},
  media: {},
  ...more,
});

export const runEnd = (more: Partial<RunEnd> = {}): RunEnd => ({
  status: "completed",
  reason: "",
  step: 5,
  time: 9000,
  elapsed: 2,
  metrics: {},
  ...more,
});
