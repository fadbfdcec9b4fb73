// hookline serve: a trained model behind HTTP.
import { Option } from "commander";
import { ENGINE_NAMES, type EngineName } from "../../engines/select.ts";
import { currentPlatform } from "../../platform/platform.ts";
import { DEFAULT_BATCH_SIZES } from "../../predict/batch-sizes.ts";
import { loadPredictor } from "../../predict/load-predictor.ts";
import type { Predictor } from "../../predict/types.ts";
import { type CommandDescription, checkpointFlag, modelFlag, wholeFrom } from "../command.ts";
import { EXIT, UsageError } from "../errors.ts";
import { keepStdoutFree, print, say, shownPath } from "../output.ts";
import { exampleRow } from "./example-row.ts";
import { startServer, type RunningServer, type ServerOptions } from "./server.ts";

/** Requests that have arrived get this long to be answered after a signal. */
const GRACE_MS = 30_000;

export const command: CommandDescription = {
  examples: `serve runs/churn
serve runs/churn --port 9000 --deadline 5
serve exported/churn --host 0.0.0.0 --engine wasm`,
  flags: (program) =>
    program
      .argument("<path>", "a run's directory, a checkpoint or an exported folder")
      .addOption(checkpointFlag())
      .addOption(modelFlag())
      .option("--port <number>", "0 chooses a free one", wholeFrom(0), 8000)
      .option("--host <address>", "0.0.0.0 answers other machines too", "127.0.0.1")
      .option("--deadline <ms>", "how long a row waits for others to form a batch", wholeFrom(0), 0)
      .option("--max-batch <rows>", "rows that are computed together", wholeFrom(1), DEFAULT_BATCH_SIZES.at(-1))
      .option("--max-rows <rows>", "rows in one request", wholeFrom(1), 1000)
      .option("--max-bytes <bytes>", "size of one request", wholeFrom(1), 2 ** 20)
      .option("--max-queue <rows>", "rows that may wait; beyond that requests get 503", wholeFrom(1), 4096)
      .option("--timeout <ms>", "how long one request may take", wholeFrom(1), 30_000)
      .addOption(new Option("--engine <name>", "what computes").choices(ENGINE_NAMES).default("auto")),
};

interface Flags {
  readonly checkpoint: string;
  readonly model?: string;
  readonly port: number;
  readonly host: string;
  readonly deadline: number;
  readonly maxBatch: number;
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly maxQueue: number;
  readonly timeout: number;
  readonly engine: EngineName;
}

export async function run(path: string, flags: Flags): Promise<number> {
  const { checkpoint, model: name, engine, deadline, maxBatch, ...rest } = flags;
  const giveStdoutBack = keepStdoutFree();
  const batchSizes = [...DEFAULT_BATCH_SIZES.filter((size) => size < maxBatch), maxBatch];
  const predict = await loadPredictor(path, { checkpoint, name, engine, deadline, batchSizes });
  try {
    await predict.warmUp();
    giveStdoutBack();
    await serve(predict, { ...rest, onError: report });
  } finally {
    giveStdoutBack();
    await predict.close();
  }
  // It has done what it was asked to do.
  process.exitCode = EXIT.ok;
  return EXIT.ok;
}

async function serve(predict: Predictor, options: ServerOptions): Promise<void> {
  const server = await listening(startServer(predict, options), options);
  print(`${shownPath(predict.source)} on ${server.url} (engine ${predict.engine})`);
  const row = JSON.stringify(exampleRow(predict.signature));
  print(`  curl ${server.url}/predict -H 'content-type: application/json' -d '${row}'`);
  const signal = await firstSignal();
  say(`${signal}: answering what has arrived, then ending`);
  await Promise.all([server.close(GRACE_MS), predict.flush()]);
}

const report = (error: unknown): void => say(error instanceof Error ? (error.stack ?? error.message) : String(error));

async function listening(starting: Promise<RunningServer>, { host, port }: ServerOptions): Promise<RunningServer> {
  try {
    return await starting;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE")
      throw new UsageError(`Port ${port} of ${host} is in use. Choose another one with --port, or 0 for any.`);
    if (code === "EACCES") throw new UsageError(`Port ${port} needs more rights. Choose one from 1024 on with --port.`);
    if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
      throw new UsageError(`This machine has no address ${host}. Use --host 127.0.0.1 or --host 0.0.0.0.`);
    throw error;
  }
}

/** A second signal ends the process at once. */
function firstSignal(): Promise<string> {
  return new Promise((resolve) => void currentPlatform().onSignals(resolve, GRACE_MS + 5000));
}
