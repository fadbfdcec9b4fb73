// hookline/loggers: the backends of the `logger` hook with their options, the contract for one of your own, and a reader of runs.
import "../core/ambient.ts";
export type { FileBackend, LoggerBackend } from "./backend.ts";
export type { LastRecord, LogRecord, RunEnd, RunEvent, RunFacts } from "../runs/types.ts";
export { consoleLog, type ConsoleOptions } from "./console/console.ts";
export { csv, type CsvOptions } from "./csv.ts";
export { jsonl, type JsonlOptions } from "./jsonl.ts";
export { mlflow, type MlflowOptions } from "./mlflow/mlflow.ts";
export { tensorboard, type TensorboardOptions } from "./tensorboard/tensorboard.ts";
export { wandb, type WandbOptions } from "./wandb/wandb.ts";
