// hookline serve: a trained model behind HTTP; a language model behind OpenAI's interface.
import { basename } from "node:path";
import { Option } from "commander";
import { ENGINE_NAMES, type EngineName } from "../../engines/select.ts";
import { currentPlatform } from "../../platform/platform.ts";
import { DEFAULT_BATCH_SIZES } from "../../predict/batch-sizes.ts";
import { loadPredictor } from "../../predict/load-predictor.ts";
import { type CommandDescription, checkpointFlag, modelFlag, portNumber, wholeFrom } from "../command.ts";
import { EXIT, listenError } from "../errors.ts";
import { keepStdoutFree, print, say, shownPath } from "../output.ts";
import { exampleRow } from "./example-row.ts";
import { isLanguageModel } from "../lm/is-language-model.ts";
import { chatService } from "./chat-service.ts";
import { predictService } from "./predict-service.ts";
import { type Address, startServer, type RunningServer, type Service } from "./server.ts";

/** Requests that have arrived get this long to be answered after a signal. */
const GRACE_MS = 30_000;

export const command: CommandDescription = {
  examples: `serve runs/churn
serve runs/churn --port 9000 --deadline 5
serve exported/churn --host 0.0.0.0 --engine wasm
serve models/SmolLM2-135M-Instruct --max-tokens 500`,
  flags: (program) =>
    program
      .argument("<path>", "a run's directory, a checkpoint, an exported folder or the folder of a language model")
      .addOption(checkpointFlag())
      .addOption(modelFlag())
      .option("--port <number>", "0 chooses a free one", portNumber, 8000)
      .option("--host <address>", "0.0.0.0 answers other machines too", "127.0.0.1")
      .option("--deadline <ms>", "how long a row waits for others to form a batch", wholeFrom(0), 0)
      .option(
        "--max-batch <rows>",
        `rows that are computed together (default: ${DEFAULT_BATCH_SIZES.at(-1)}; texts of a language model 8)`,
        wholeFrom(1),
      )
      .option("--max-rows <rows>", "rows in one request", wholeFrom(1), 1000)
      .option("--max-bytes <bytes>", "size of one request", wholeFrom(1), 2 ** 20)
      .option(
        "--max-queue <rows>",
        "rows that may wait; beyond that requests get 503 (default: 4096; texts of a language model 64, and 429)",
        wholeFrom(1),
      )
      .option("--max-tokens <number>", "tokens in one answer of a language model", wholeFrom(1), 1024)
      .option("--timeout <ms>", "how long one request may take", wholeFrom(1), 30_000)
      .addOption(new Option("--engine <name>", "what computes").choices(ENGINE_NAMES).default("auto")),
};

interface Flags {
  readonly checkpoint: string;
  readonly model?: string;
  readonly port: number;
  readonly host: string;
  readonly deadline: number;
  readonly maxBatch?: number;
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly maxQueue?: number;
  readonly maxTokens: number;
  readonly timeout: number;
  readonly engine: EngineName;
}

export async function run(path: string, flags: Flags): Promise<number> {
  const giveStdoutBack = keepStdoutFree();
  try {
    await (isLanguageModel(path) ? serveText(path, flags, giveStdoutBack) : serveRows(path, flags, giveStdoutBack));
  } finally {
    giveStdoutBack();
  }
  // It has done what it was asked to do.
  process.exitCode = EXIT.ok;
  return EXIT.ok;
}

async function serveRows(path: string, flags: Flags, giveStdoutBack: () => void): Promise<void> {
  const { checkpoint, model: name, engine, deadline, maxBatch = DEFAULT_BATCH_SIZES.at(-1)!, ...rest } = flags;
  const batchSizes = [...DEFAULT_BATCH_SIZES.filter((size) => size < maxBatch), maxBatch];
  const predict = await loadPredictor(path, { checkpoint, name, engine, deadline, batchSizes });
  try {
    await predict.warmUp();
    giveStdoutBack();
    const { host, port, maxTokens: _, ...limits } = rest;
    const service = predictService(predict, { ...limits, onError: report });
    await serve(
      service,
      { host, port },
      (url) => [
        `${shownPath(predict.source)} on ${url} (engine ${predict.engine})`,
        curl(`${url}/predict`, exampleRow(predict.signature)),
      ],
      () => predict.flush(),
    );
  } finally {
    await predict.close();
  }
}

async function serveText(path: string, flags: Flags, giveStdoutBack: () => void): Promise<void> {
  const { checkpoint, engine, host, port, maxBatch, maxQueue, maxBytes, maxTokens } = flags;
  // Loaded where it is needed: most servers have no language model.
  const { openModel } = await import("../lm/open-model.ts");
  const { generator } = await import("../../lm/generate/generator.ts");
  const { trainer, from } = await openModel(path, { checkpoint, engine });
  const writer = generator(trainer, maxBatch === undefined ? {} : { rows: maxBatch });
  try {
    await writer.start();
    giveStdoutBack();
    const name = basename(path.replace(/\/+$/, ""));
    const limits = { name, maxBytes, maxTokens, ...(maxQueue !== undefined && { maxQueue }) };
    await serve(chatService(writer, { ...limits, onError: report }), { host, port }, (url) => [
      `${from} on ${url}/v1, as ${name}`,
      curl(`${url}/v1/chat/completions`, { model: name, messages: [{ role: "user", content: "Hello" }] }),
    ]);
  } finally {
    await writer.close();
    await trainer.close();
  }
}

const curl = (url: string, body: object): string =>
  `  curl ${url} -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;

/** Answers until a signal comes. `flush` hurries what waits. */
async function serve(
  service: Service,
  address: Address,
  lines: (url: string) => readonly string[],
  flush: () => Promise<void> = async () => {},
): Promise<void> {
  const server = await listening(startServer(service, address), address);
  for (const line of lines(server.url)) print(line);
  const signal = await firstSignal();
  say(`${signal}: answering what has arrived, then ending`);
  await Promise.all([server.close(GRACE_MS), flush()]);
}

const report = (error: unknown): void => say(error instanceof Error ? (error.stack ?? error.message) : String(error));

async function listening(starting: Promise<RunningServer>, { host, port }: Address): Promise<RunningServer> {
  try {
    return await starting;
  } catch (error) {
    throw listenError(error, host, port);
  }
}

/** A second signal ends the process at once. */
function firstSignal(): Promise<string> {
  return new Promise((resolve) => void currentPlatform().onSignals(resolve, GRACE_MS + 5000));
}
