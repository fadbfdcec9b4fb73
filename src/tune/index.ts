// hookline/tune: hyperparameter search.
import "../core/ambient.ts";
export { Study, type AskedTrial, type RunStudyOptions, type StudyResult } from "./study.ts";
export type { ObjectiveOption, StudyOptions, TrialParams } from "./study-options.ts";
export type { HookSource } from "./module-hooks.ts";
export type { StudyEnd } from "./study-run.ts";
export { StudyError, TrialLost, TrialPruned, type LeaveKind } from "./study-errors.ts";
export type { Trial, TrialFunction, TrialHookOptions } from "./trial.ts";
export {
  type ParamsOf,
  type SpaceTree,
  type SpaceValue,
  choice,
  int,
  logUniform,
  uniform,
} from "./space/parameters.ts";
export { Space, type UnitPoint } from "./space/space.ts";
export { grid, type GridOptions } from "./samplers/grid.ts";
export { random, type RandomOptions } from "./samplers/random.ts";
export { sobol, type SobolOptions } from "./samplers/sobol.ts";
export { tpe, type TpeOptions } from "./samplers/tpe.ts";
export { asha, type AshaOptions } from "./schedulers/asha.ts";
export { hyperband, type HyperbandOptions } from "./schedulers/hyperband.ts";
export { median, type MedianOptions } from "./schedulers/median.ts";
export { none } from "./schedulers/none.ts";
export { pbt, type PbtOptions } from "./schedulers/pbt.ts";
export { studyReport, type StudyReport } from "./report/study-report.ts";
export { bullmq, type BullmqOptions } from "./runners/bullmq.ts";
export { inProcess } from "./runners/in-process.ts";
export { local, type LocalOptions } from "./runners/local.ts";
export type { Runner, RunnerStudy, TrialHost, TrialJob, TrialOutcome, Verdict } from "./runners/runner.ts";
export type {
  Decision,
  Objective,
  Params,
  Report,
  ReportedStudy,
  Result,
  Sampler,
  Scheduler,
  StudyView,
  TrialRecord,
  TrialStatus,
} from "./types.ts";
