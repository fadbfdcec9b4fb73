// Every built-in with the least options it takes, for the suite that all of them pass.
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import type { Hook } from "hookline";
import { memoryStore } from "hookline/checkpoint";
import type { LoggerBackend } from "hookline/loggers";
import { mse } from "hookline/nn";
import type { TinyOptions } from "hookline/testing";
import { accumulateSchedule } from "../../src/hooks/phases/accumulate-schedule.ts";
import { control } from "../../src/hooks/control/control.ts";
import { customStep } from "../../src/hooks/phases/custom-step.ts";
import { debug } from "../../src/hooks/debug.ts";
import { earlyStopping } from "../../src/hooks/early-stopping/early-stopping.ts";
import { ema } from "../../src/hooks/averaging/ema.ts";
import { freeze } from "../../src/hooks/phases/freeze.ts";
import { gradientMonitor } from "../../src/hooks/gradient-monitor.ts";
import { gradientNoise } from "../../src/hooks/gradient-noise.ts";
import { heartbeat } from "../../src/hooks/heartbeat.ts";
import { logger } from "../../src/hooks/logger/logger.ts";
import { lossSchedule } from "../../src/hooks/phases/loss-schedule.ts";
import { lossSpike } from "../../src/hooks/loss-spike.ts";
import { lrMonitor } from "../../src/hooks/lr-monitor.ts";
import { modelCheckpoint } from "../../src/hooks/model-checkpoint/model-checkpoint.ts";
import { nanGuard } from "../../src/hooks/nan-guard.ts";
import { predictionWriter } from "../../src/hooks/prediction-writer/prediction-writer.ts";
import { probe } from "../../src/hooks/probe.ts";
import { progressBar } from "../../src/hooks/progress-bar/progress-bar.ts";
import { s3Upload } from "../../src/hooks/s3-upload/s3-upload.ts";
import { schedule } from "../../src/hooks/schedule.ts";
import { stopFile } from "../../src/hooks/stop-file.ts";
import { swa } from "../../src/hooks/averaging/swa.ts";
import { systemStats } from "../../src/hooks/system-stats.ts";
import { throughput } from "../../src/hooks/throughput.ts";
import { timeline } from "../../src/hooks/timeline.ts";
import { webhook } from "../../src/hooks/webhook.ts";
import { weightMonitor } from "../../src/hooks/weight-monitor.ts";
import { when } from "../../src/hooks/when.ts";
import { s3Server } from "../support/s3-server.ts";

/** What a built-in may need around it. */
export interface Surroundings {
  /** A folder of its own. */
  readonly folder: string;
  /** A server that takes everything. */
  readonly url: string;
}

export interface BuiltIn {
  /** With the least options, and these. */
  readonly make: (around: Surroundings, more?: object) => Hook;
  /** It takes a hook, and no options. */
  readonly wraps?: true;
  /** A run has one at most, which cannot be named. */
  readonly single?: true;
  /** What the trainer must have for it; made anew for each. */
  readonly needs?: (around: Surroundings) => TinyOptions;
  /** Options with which it has nothing to do for the first few steps. */
  readonly idle?: object;
  /** A run without which it makes no sense. */
  readonly idleIn?: TinyOptions;
  /** Why a run with it may end with other parameters. */
  readonly changes?: string;
}

/** A backend that keeps nothing. */
const NOWHERE: LoggerBackend = { name: "nowhere", open() {}, log() {}, close() {} };
const local = { allowHttp: true, allowPrivate: true };
const silent = { print: () => undefined };
/** A bucket that takes everything; it does not keep the process. */
const bucket = await s3Server();
bucket.unref();

export const BUILT_INS: Readonly<Record<string, BuiltIn>> = {
  accumulateSchedule: {
    make: (_, more) => accumulateSchedule({ schedule: [{ from: "1 epoch", accumulate: 1 }], ...more }),
    changes: "other steps",
  },
  control: {
    make: (_, more) => control({ ...more }),
    single: true,
    needs: ({ folder }) => ({ runDir: mkdtempSync(join(folder, "run-")) }),
  },
  customStep: {
    make: (_, more) => customStep({ update: (params) => params, ...more }),
    idle: { from: "1000 steps" },
    changes: "another update",
  },
  debug: { make: (_, more) => debug({ ...silent, ...more }), idle: { enabled: false } },
  earlyStopping: { make: (_, more) => earlyStopping({ ...more }) },
  ema: { make: (_, more) => ema({ ...more }), idle: { every: 1000 } },
  freeze: {
    make: (_, more) => freeze({ params: "bias", ...more }),
    idle: { from: "1000 steps" },
    changes: "frozen parameters",
  },
  gradientMonitor: { make: (_, more) => gradientMonitor({ every: 1, ...more }), idle: { every: 1000 } },
  gradientNoise: {
    make: (_, more) => gradientNoise({ every: 1, ...more }),
    idle: { every: 1000 },
    idleIn: { accumulate: 2 },
  },
  heartbeat: { make: ({ folder }, more) => heartbeat({ file: join(folder, "beat.json"), ...more }) },
  logger: { make: (_, more) => logger(NOWHERE, { ...more }) },
  lossSchedule: {
    make: (_, more) => lossSchedule({ schedule: [{ from: "1 epoch", loss: mse() }], ...more }),
    idle: { schedule: [{ from: "1000 steps", loss: mse() }] },
  },
  lossSpike: { make: (_, more) => lossSpike({ ...more }), idle: { action: "lowerLr" } },
  lrMonitor: { make: (_, more) => lrMonitor({ ...more }) },
  modelCheckpoint: {
    make: (_, more) => modelCheckpoint({ ...more }),
    idle: { every: 1000, atEnd: false },
    idleIn: { store: memoryStore() },
    changes: "what a rollback goes back to",
  },
  nanGuard: { make: (_, more) => nanGuard({ ...more }) },
  predictionWriter: {
    make: ({ folder }, more) => predictionWriter({ file: join(folder, "predictions.csv"), ...more }),
  },
  probe: { make: (_, more) => probe({ every: 1, ...more }), idle: { every: 1000 } },
  progressBar: { make: (_, more) => progressBar({ write: () => undefined, ...more }), idle: { quiet: true } },
  s3Upload: { make: (_, more) => s3Upload({ ...bucket.options, ...more }) },
  schedule: { make: () => schedule(2, lrMonitor()), wraps: true },
  stopFile: { make: ({ folder }, more) => stopFile({ path: join(folder, "STOP"), every: 1, ...more }) },
  swa: { make: (_, more) => swa({ from: "1 steps", ...more }), idle: { from: "1000 steps" }, changes: "the mean" },
  systemStats: { make: (_, more) => systemStats({ every: 1, ...more }), idle: { every: 1000 } },
  throughput: { make: (_, more) => throughput({ window: 1, ...more }), idle: { window: 1000 } },
  timeline: { make: ({ folder }, more) => timeline({ file: join(folder, "trace.json"), ...more }) },
  webhook: { make: ({ url }, more) => webhook({ url, ...local, ...more }) },
  weightMonitor: { make: (_, more) => weightMonitor({ every: 1, ...more }), idle: { every: 1000 } },
  when: { make: () => when(() => true, lrMonitor()), wraps: true },
};
