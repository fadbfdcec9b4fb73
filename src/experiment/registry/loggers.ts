// The backends of the logger hook by the names that the hook itself knows them by.
import { consoleLog } from "../../loggers/console/console.ts";
import { csv } from "../../loggers/csv.ts";
import { jsonl } from "../../loggers/jsonl.ts";
import { checkMlflow, mlflow } from "../../loggers/mlflow/mlflow.ts";
import { tensorboard } from "../../loggers/tensorboard/tensorboard.ts";
import { checkWandb, wandb } from "../../loggers/wandb/wandb.ts";
import type { Components } from "./component.ts";

const files = { dir: "write" } as const;

export const loggers: Components = {
  console: { make: consoleLog },
  csv: { make: csv, files },
  jsonl: { make: jsonl, files },
  mlflow: { make: mlflow, checkAround: checkMlflow },
  tensorboard: { make: tensorboard, files },
  wandb: { make: wandb, checkAround: checkWandb },
};
