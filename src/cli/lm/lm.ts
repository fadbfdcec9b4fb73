// hookline lm: downloads a model from the Hugging Face hub, or evaluates one.
import { join } from "node:path";
import type { Command } from "commander";
import { checkpointFlag, type CommandDescription, jsonFlag, nonEmpty, wholeFrom } from "../command.ts";
import { UsageError } from "../errors.ts";
import { print, say, shownPath, typed } from "../output.ts";
import { evaluate, type EvalFlags } from "./eval.ts";
import { engineFlag } from "./flags.ts";
import { download, type HubModel, listFiles } from "./hub.ts";

export const command: CommandDescription = {
  examples: `lm fetch HuggingFaceTB/SmolLM2-135M-Instruct
lm fetch Qwen/Qwen2.5-0.5B-Instruct --out models/qwen --revision main
lm eval runs/support questions.jsonl
lm eval models/SmolLM2-135M texts.jsonl --length 1024`,
  flags: (program: Command) =>
    program
      .argument("<action>", "fetch or eval")
      .argument("<model>", "fetch: the model on the hub, org/name; eval: a run of finetune, or the folder of a model")
      .argument("[file]", "eval: JSON lines of questions with choices (accuracy), or as for finetune (perplexity)")
      .option("--out <dir>", "fetch: where it goes; default: models/<name>", nonEmpty)
      .option("--revision <name>", "fetch: a branch, a tag or a commit", nonEmpty, "main")
      .addOption(checkpointFlag())
      .option("--batch-size <n>", "eval: rows in a batch", wholeFrom(1), 8)
      .option("--length <n>", "eval: tokens in a row of text; default as for finetune", wholeFrom(2))
      .addOption(engineFlag("eval: "))
      .addOption(jsonFlag()),
};

interface Flags extends EvalFlags {
  readonly out?: string;
  readonly revision: string;
}

const HUB = "https://huggingface.co";

export async function run(action: string, name: string, file: string | undefined, flags: Flags): Promise<void> {
  if (action === "eval") return evaluate(name, file, flags);
  if (action !== "fetch")
    throw new UsageError(`There is no \`lm ${action}\`, only \`${typed("lm fetch")}\` and \`${typed("lm eval")}\`.`);
  await fetchModel(name, flags);
}

async function fetchModel(name: string, { out, revision }: Flags): Promise<void> {
  if (!/^[\w.-]+\/[\w.-]+$/.test(name) || name.includes(".."))
    throw new UsageError(`Expected the name of a model on the hub, such as HuggingFaceTB/SmolLM2-135M, got ${name}.`);
  const { HF_ENDPOINT: endpoint = HUB, HF_TOKEN: token } = process.env;
  const model: HubModel = { endpoint: endpoint.replace(/\/+$/, ""), name, revision, token };
  const folder = out ?? join("models", name.split("/")[1]!);
  const { commit, files } = await listFiles(model);
  for (const file of files) {
    const progress = progressOf(file.path, file.size);
    const isNew = await download(model, commit, file, folder, progress.add);
    progress.end(isNew);
  }
  print(
    `${name} at ${commit.slice(0, 12)} is in ${shownPath(folder)}.\nTalk to it: ${typed(`chat ${shownPath(folder)}`)}`,
  );
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
const SHOW_EVERY_MS = 5000;

/** A line for each file, and lines of a download that takes long. */
function progressOf(path: string, size: number | undefined) {
  let [bytes, shownAt] = [0, performance.now()];
  return {
    add(more: number): void {
      bytes += more;
      const now = performance.now();
      if (now - shownAt < SHOW_EVERY_MS) return;
      shownAt = now;
      say(`${path}: ${megabytes(bytes)}${size === undefined ? "" : ` of ${megabytes(size)}`}`);
    },
    end(isNew: boolean): void {
      say(`${path}: ${isNew ? megabytes(bytes) : "there already"}`);
    },
  };
}
