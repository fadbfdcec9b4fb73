// hookline finetune: from the folder of a language model and a file of examples to a fine-tuned model.
import { writeFileSync } from "node:fs";
import { totalmem } from "node:os";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { Option } from "commander";
import type { Hook } from "../../core/hook.ts";
import { buildExperiment } from "../../experiment/build/build-experiment.ts";
import { memoryWanted } from "../../engines/native/memory.ts";
import type { ExperimentOptions } from "../../experiment/types.ts";
import type { LanguageModel } from "../../lm/model/language-model.ts";
import type { DescribeOptions } from "../../lm/model/memory.ts";
import type { ReadExamplesOptions } from "../../lm/text/examples/options.ts";
import type { Examples } from "../../lm/text/examples/read-examples.ts";
import type { ExamplesData } from "../../lm/train/examples-data.ts";
import { type CommandDescription, jsonFlag, nonEmpty, quietFlag, setFlag, wholeFrom } from "../command.ts";
import { say, shownPath } from "../output.ts";
import { makeRoom, newRecord } from "../train/run-directory.ts";
import { runExperiment } from "../train/run-experiment.ts";
import { startUiBeside, uiFlag } from "../ui-beside.ts";
import { engineFlag, share, positive } from "./flags.ts";
import { CONFIG_FILE, finetuneConfig, type FinetuneFlags } from "./finetune-config.ts";
import { finetuneDryRun } from "./finetune-dry-run.ts";

export const command: CommandDescription = {
  examples: `finetune models/SmolLM2-135M-Instruct --data chats.jsonl
finetune models/SmolLM2-135M-Instruct --data chats.jsonl --lora 32 --base int8 --out runs/support
finetune models/SmolLM2-135M --data texts.jsonl --full --length 1024
finetune models/SmolLM2-135M-Instruct --data chats.jsonl --dry-run`,
  flags: (program: Command) =>
    program
      .argument("<model>", "the folder of a model, as the Hugging Face hub has it")
      .requiredOption("--data <file>", "JSON lines: messages, prompt + completion, or text", nonEmpty)
      .option("--out <dir>", "where the run's files go", nonEmpty, "runs/finetune")
      .option("--lora <rank>", "train an adapter of this rank beside the frozen model", wholeFrom(1), 16)
      .addOption(new Option("--full", "train all parameters").conflicts(["lora", "base"]))
      .addOption(
        new Option(
          "--base <storage>",
          "how the frozen matrices are kept; default: bf16 if the model's files are, else float32",
        ).choices(["float32", "bf16", "int8", "int4"]),
      )
      .option("--length <n>", "tokens in a row; default 512, or the model's context if that is shorter", wholeFrom(2))
      .option("--batch-size <n>", "rows in a batch", wholeFrom(1), 4)
      .option("--accumulate <n>", "batches in a step; default 1", wholeFrom(1))
      .option("--epochs <n>", "how often all of the data is seen", wholeFrom(1), 2)
      .option("--lr <rate>", "the learning rate; default 2e-4, and 2e-5 with --full", positive)
      .option("--val <share>", "the share of the examples to validate on; default 0.05 from 40 examples on", share)
      .option("--seed <n>", "the seed of everything random", wholeFrom(0))
      .addOption(engineFlag())
      .addOption(setFlag())
      .option(
        "--fresh",
        "start a new run even if the directory has an unfinished one, which is kept under another name",
      )
      .option("--dry-run", "show the data, one example as the model reads it, the memory, and the time of three steps")
      .addOption(uiFlag())
      .addOption(quietFlag())
      .addOption(jsonFlag()),
};

interface Flags extends FinetuneFlags {
  readonly fresh?: boolean;
  readonly dryRun?: boolean;
  readonly ui?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

type OnReading = NonNullable<ReadExamplesOptions["onProgress"]>;

const SAY_EVERY_MS = 5000;

/** What is known once the model is loaded and the data is read. */
export interface Prepared {
  readonly options: ExperimentOptions;
  readonly model: LanguageModel;
  readonly data: ExamplesData;
  readonly examples: Examples;
}

export async function run(from: string, flags: Flags): Promise<number | void> {
  const { fresh = false, dryRun = false, ui, quiet = false, json } = flags;
  const doc = await finetuneConfig(from, flags);
  const built = await buildExperiment(doc, { forRun: !dryRun });
  const runDir = shownPath(built.runDir!);
  if (!dryRun) await makeRoom(runDir, fresh, "--out");
  const prepared = await prepare(built, quiet ? undefined : sayReading());
  if (!quiet)
    say(
      `${prepared.examples.summary()}\n${prepared.model.describe(sizesOf(flags, prepared.examples.statistics.length))}`,
    );
  if (dryRun) return finetuneDryRun(prepared, doc);

  const record = newRecord(runDir, prepared.options.name!, doc, flags.set ?? []);
  const hooks = [configHook(runDir, record.raw), ...(prepared.options.hooks ?? [])];
  const options = { ...prepared.options, hooks };
  const beside = ui ? await startUiBeside(dirname(runDir)) : undefined;
  try {
    return await runExperiment({ options, runDir, record, resume: false, control: {}, quiet, json });
  } finally {
    beside?.close();
  }
}

/** A GPU has its own memory, and says itself when that is not enough. */
const sizesOf = ({ batchSize, engine }: Flags, length: number): DescribeOptions => ({
  batchSize,
  length,
  limit:
    engine === "xla" || engine === "webgpu"
      ? Infinity
      : Math.min((engine === "wasm" ? 4 : memoryWanted(undefined)) * 2 ** 30, totalmem()),
  layered: engine !== "xla",
});

/** Reads the data now, so that it can be described; the experiment gets what was read. */
async function prepare(options: ExperimentOptions, onProgress: OnReading | undefined): Promise<Prepared> {
  const model = options.model as LanguageModel;
  const data = (await options.data()) as object as ExamplesData;
  const examples = await data.examplesFor(model, onProgress);
  return { options: { ...options, data: () => data as never }, model, data, examples };
}

/** A line now and then while a long file is read. */
function sayReading(): OnReading {
  let saidAt = performance.now();
  return ({ examples, tokens }) => {
    const now = performance.now();
    if (now - saidAt < SAY_EVERY_MS) return;
    saidAt = now;
    say(`reading: ${examples.toLocaleString("en-US")} examples, ${tokens.toLocaleString("en-US")} tokens`);
  };
}

/** The config as a file, to read and to start from. */
const configHook = (runDir: string, config: unknown): Hook => ({
  name: CONFIG_FILE,
  stage: "progress",
  onDatasetCreated: () => writeFileSync(join(runDir, CONFIG_FILE), `${JSON.stringify(config, undefined, 2)}\n`),
});
