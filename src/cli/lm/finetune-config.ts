// The config that `hookline finetune` stands for: what its flags say, as one would write it by hand.
import { closeSync, existsSync, openSync, readSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import type { Json } from "../../core/options.ts";
import type { ConfigDocument } from "../../experiment/config/config-tree.ts";
import { parseJson } from "../../experiment/config/parse-json.ts";
import { documentOf } from "../../experiment/config/read-config.ts";
import { UsageError } from "../errors.ts";

export interface FinetuneFlags {
  readonly data: string;
  readonly out: string;
  readonly full?: boolean;
  readonly lora: number;
  readonly base?: string;
  readonly length?: number;
  readonly batchSize: number;
  readonly accumulate?: number;
  readonly epochs: number;
  readonly lr?: number;
  readonly val?: number;
  readonly seed?: number;
  readonly engine?: string;
  readonly set?: readonly string[];
}

/** The name of the config in the run's directory. */
export const CONFIG_FILE = "finetune.json";

/** Below this many examples none is kept back. */
const FEWEST_TO_VALIDATE = 40;
/** Bytes that are read at a time. */
const BLOCK = 2 ** 16;
const SHARE_TO_VALIDATE = 0.05;
const RATE = { lora: 2e-4, full: 2e-5 } as const;

export async function finetuneConfig(model: string, flags: FinetuneFlags): Promise<ConfigDocument> {
  const run = resolve(flags.out);
  const [from, file] = [existing(model, "model"), existing(flags.data, "data")];
  // A config names only what is inside its project: here that is the folder that all of it is in.
  const project = commonFolder([dirname(from), dirname(file), dirname(run)]);
  const config = configOf(relative(run, from), relative(run, file), file, flags);
  const at = { file: join(flags.out, CONFIG_FILE) };
  const tree = parseJson({ text: JSON.stringify(config), directory: run, at: () => at });
  return documentOf(tree, {
    file: join(run, CONFIG_FILE),
    project,
    set: [...(flags.set ?? []), `runDir=${JSON.stringify(run)}`],
    cwd: process.cwd(),
    env: process.env,
  });
}

function configOf(from: string, file: string, path: string, flags: FinetuneFlags): Record<string, Json> {
  const { full = false, lora, base, length, batchSize, accumulate, epochs, seed, engine } = flags;
  const { lr = full ? RATE.full : RATE.lora, val = hasMany(path) ? SHARE_TO_VALIDATE : 0 } = flags;
  return {
    name: basename(flags.out),
    model: { use: "lm", from, ...(!full && { lora: { rank: lora } }), ...(base !== undefined && { base }) },
    data: { use: "examples", file, ...(length !== undefined && { length }), ...(val > 0 && { val }) },
    loader: { batchSize },
    ...(accumulate !== undefined && { accumulate }),
    optimizer: { use: "adamw", lr },
    schedule: { use: "cosine", warmup: "3%" },
    clipNorm: 1,
    epochs,
    ...(seed !== undefined && { seed }),
    ...(engine !== undefined && { engine }),
    hooks: [
      { use: "progressBar", memory: true },
      { use: "modelCheckpoint", ...(val > 0 && { monitor: "val/loss" }) },
      { use: "logger", backends: "jsonl" },
    ],
  };
}

function existing(given: string, what: "model" | "data"): string {
  if (!existsSync(given)) {
    const hint = what === "model" ? " `hookline lm fetch <org/name>` downloads a model from the Hugging Face hub." : "";
    throw new UsageError(`There is no ${given}.${hint}`);
  }
  if (what === "data" && !statSync(given).isFile())
    throw new UsageError(`${given} is not a file. --data takes a file of JSON lines.`);
  // The caches of Hugging Face are made of links.
  return realpathSync(given);
}

/** Whether there is enough to keep a part back for validation. Not all is read: a file may be larger than memory. */
function hasMany(path: string): boolean {
  if (path.endsWith(".gz")) return true;
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(BLOCK);
    let lines = 0;
    for (let got = -1; got !== 0 && lines < FEWEST_TO_VALIDATE;) {
      got = readSync(file, bytes);
      for (let at = -1; (at = bytes.subarray(0, got).indexOf("\n", at + 1)) >= 0;) lines++;
    }
    return lines >= FEWEST_TO_VALIDATE;
  } finally {
    closeSync(file);
  }
}

function commonFolder(folders: readonly string[]): string {
  const parts = folders.map((folder) => folder.split(sep));
  const first = parts[0]!;
  let count = 0;
  while (count < first.length && parts.every((each) => each[count] === first[count])) count++;
  return first.slice(0, count).join(sep) || sep;
}
