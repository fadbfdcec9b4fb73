// The built-in hooks.
export {
  accumulateSchedule,
  type AccumulatePhase,
  type AccumulateScheduleOptions,
} from "./phases/accumulate-schedule.ts";
export { control, type ControlOptions } from "./control/control.ts";
export { customStep, type CustomStepOptions } from "./phases/custom-step.ts";
export { debug, type DebugOptions } from "./debug.ts";
export {
  earlyStopping,
  type CombineFn,
  type EarlyStoppingOptions,
  type PerMonitor,
} from "./early-stopping/early-stopping.ts";
export { ema, type EmaOptions } from "./averaging/ema.ts";
export { averagedParams } from "./averaging/average.ts";
export { freeze, type FreezeOptions, type FreezeRule } from "./phases/freeze.ts";
export {
  gradHistograms,
  gradientMonitor,
  type GradHistograms,
  type GradientMonitorOptions,
} from "./gradient-monitor.ts";
export { gradientNoise, type GradientNoiseOptions } from "./gradient-noise.ts";
export { heartbeat, type HeartbeatOptions } from "./heartbeat.ts";
export { logger, type LoggerOptions } from "./logger/logger.ts";
export { lossSchedule, type LossPhase, type LossScheduleOptions } from "./phases/loss-schedule.ts";
export { lossSpike, type LossSpikeOptions } from "./loss-spike.ts";
export { lrMonitor, type LrMonitorOptions } from "./lr-monitor.ts";
export {
  bestCheckpoint,
  modelCheckpoint,
  type BestCheckpoint,
  type ModelCheckpointOptions,
} from "./model-checkpoint/model-checkpoint.ts";
export { nanGuard, type NanGuardOptions } from "./nan-guard.ts";
export { predictionWriter, type PredictionWriterOptions } from "./prediction-writer/prediction-writer.ts";
export { probe, probedStats, type ProbedStats, type ProbeOptions } from "./probe.ts";
export { progressBar, type ProgressBarOptions } from "./progress-bar/progress-bar.ts";
export { s3Upload, type S3UploadOptions } from "./s3-upload/s3-upload.ts";
export { schedule } from "./schedule.ts";
export { stopFile, type StopFileOptions } from "./stop-file.ts";
export { swa, type SwaOptions } from "./averaging/swa.ts";
export { systemStats, type SystemStatsOptions } from "./system-stats.ts";
export { throughput, type ThroughputOptions } from "./throughput.ts";
export { timeline, type TimelineOptions } from "./timeline.ts";
export { webhook, type WebhookEvent, type WebhookInfo, type WebhookOptions } from "./webhook.ts";
export { weightMonitor, type WeightMonitorOptions } from "./weight-monitor.ts";
export { when, type Predicate } from "./when.ts";
