// hookline/loggers: the backends of the `logger` hook with their options, the contract for one of your own, and a reader of runs.
export type { LoggerBackend, LogRecord, RunEnd, RunEvent, RunFacts } from "./backend.ts";
export { consoleLog } from "./console.ts";
export { csv } from "./csv.ts";
export { jsonl } from "./jsonl.ts";
export { mlflow } from "./mlflow.ts";
export { readRun } from "./read-run.ts";
export { tensorboard } from "./tensorboard.ts";
export { wandb } from "./wandb.ts";
