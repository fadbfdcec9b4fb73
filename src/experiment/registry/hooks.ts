// The built-in hooks by name.
import { accumulateSchedule } from "../../hooks/phases/accumulate-schedule.ts";
import { customStep } from "../../hooks/phases/custom-step.ts";
import { debug } from "../../hooks/debug.ts";
import { earlyStopping } from "../../hooks/early-stopping/early-stopping.ts";
import { ema } from "../../hooks/averaging/ema.ts";
import { freeze } from "../../hooks/phases/freeze.ts";
import { gradientMonitor } from "../../hooks/gradient-monitor.ts";
import { gradientNoise } from "../../hooks/gradient-noise.ts";
import { heartbeat } from "../../hooks/heartbeat.ts";
import { logger } from "../../hooks/logger/logger.ts";
import { lossSchedule } from "../../hooks/phases/loss-schedule.ts";
import { lossSpike } from "../../hooks/loss-spike.ts";
import { lrMonitor } from "../../hooks/lr-monitor.ts";
import { modelCheckpoint } from "../../hooks/model-checkpoint/model-checkpoint.ts";
import { nanGuard } from "../../hooks/nan-guard.ts";
import { predictionWriter } from "../../hooks/prediction-writer/prediction-writer.ts";
import { probe } from "../../hooks/probe.ts";
import { progressBar } from "../../hooks/progress-bar/progress-bar.ts";
import { checkS3Upload, s3Upload } from "../../hooks/s3-upload/s3-upload.ts";
import { schedule } from "../../hooks/schedule.ts";
import { stopFile } from "../../hooks/stop-file.ts";
import { swa } from "../../hooks/averaging/swa.ts";
import { systemStats } from "../../hooks/system-stats.ts";
import { throughput } from "../../hooks/throughput.ts";
import { timeline } from "../../hooks/timeline.ts";
import { webhook } from "../../hooks/webhook.ts";
import { weightMonitor } from "../../hooks/weight-monitor.ts";
import { when } from "../../hooks/when.ts";
import { each, one, oneOrList, type Components } from "./component.ts";

export const hooks: Components = {
  accumulateSchedule: { make: accumulateSchedule },
  customStep: { make: customStep },
  debug: { make: debug },
  earlyStopping: { make: earlyStopping },
  ema: { make: ema },
  freeze: { make: freeze },
  gradientMonitor: { make: gradientMonitor },
  gradientNoise: { make: gradientNoise },
  heartbeat: { make: heartbeat, files: { file: "write" } },
  logger: { make: logger, args: ["backends"], parts: { backends: oneOrList("logger") } },
  lossSchedule: { make: lossSchedule, parts: { schedule: each({ loss: one("loss") }) } },
  lossSpike: { make: lossSpike },
  lrMonitor: { make: lrMonitor },
  modelCheckpoint: { make: modelCheckpoint },
  nanGuard: { make: nanGuard },
  predictionWriter: { make: predictionWriter, files: { file: "write" } },
  probe: { make: probe },
  progressBar: { make: progressBar },
  s3Upload: { make: s3Upload, checkAround: checkS3Upload },
  schedule: { make: schedule, args: ["cadence", "hook"], parts: { hook: one("hook") } },
  stopFile: { make: stopFile, files: { path: "write" } },
  swa: { make: swa },
  systemStats: { make: systemStats },
  throughput: { make: throughput },
  timeline: { make: timeline, files: { file: "write" } },
  webhook: { make: webhook },
  weightMonitor: { make: weightMonitor },
  when: { make: when, args: ["predicate", "hook"], parts: { hook: one("hook") } },
};
