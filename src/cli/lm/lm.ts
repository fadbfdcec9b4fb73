// hookline lm fetch: downloads a model from the Hugging Face hub.
import { join } from "node:path";
import type { Command } from "commander";
import { type CommandDescription, nonEmpty } from "../command.ts";
import { UsageError } from "../errors.ts";
import { print, say, shownPath, typed } from "../output.ts";
import { download, type HubModel, listFiles } from "./hub.ts";

export const command: CommandDescription = {
  examples: `lm fetch HuggingFaceTB/SmolLM2-135M-Instruct
lm fetch Qwen/Qwen2.5-0.5B-Instruct --out models/qwen --revision main`,
  flags: (program: Command) =>
    program
      .argument("<action>", "fetch")
      .argument("<name>", "the model on the hub: org/name")
      .option("--out <dir>", "where it goes; default: models/<name>", nonEmpty)
      .option("--revision <name>", "a branch, a tag or a commit", nonEmpty, "main"),
};

interface Flags {
  readonly out?: string;
  readonly revision: string;
}

const HUB = "https://huggingface.co";

export async function run(action: string, name: string, { out, revision }: Flags): Promise<void> {
  if (action !== "fetch") throw new UsageError(`There is no \`lm ${action}\`. Did you mean \`${typed("lm fetch")}\`?`);
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
