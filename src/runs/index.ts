// hookline/runs: lists, reads and follows run directories; what the command line and a dashboard know of a run.
import "../core/ambient.ts";
export { FORMATS } from "./layout.ts";
export { findStudies } from "./directories.ts";
export { listRuns, summarizeRun, type SummaryOptions } from "./summary.ts";
export { readRun, type RunLog, type Series } from "./read-run.ts";
export { tailRun, type RunNews, type RunTail, type TailedRecord } from "./tail.ts";
export { findOwner, type FoundLock, type LockHolder } from "./lock.ts";
export type { Liveness, ProcessMark } from "./liveness.ts";
export { readResults, type SavedModel, type SavedResults } from "./results.ts";
export { fromJson, parseExact, stringifyExact, toJson } from "./exact-json.ts";
export { writeAtomically } from "./atomic-write.ts";
export type { BestValue, RunEvent, RunInfo, RunSummary } from "./types.ts";
export { COMMANDS, type CommandName } from "./control/commands.ts";
export { ControlError, type ControlCode } from "./control/control-error.ts";
export { cancelCommand, sendCommand, type CommandRequest } from "./control/send-command.ts";
export { readControl, type ControlState } from "./control/read-control.ts";
export type { Bounds, Command, CommandArgs, CommandOutcome, CommandRow, ControlHello } from "./control/types.ts";
