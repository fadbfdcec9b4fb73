// hookline lm eval: the accuracy of a language model on multiple-choice questions, or its perplexity on texts.
import { createReadStream, existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { createGunzip } from "node:zlib";
import { formatMetric } from "../../terminal/format-number.ts";
import { readExamples } from "../../lm/text/examples/read-examples.ts";
import { scoreChoices } from "../../lm/train/choices.ts";
import { running, UsageError } from "../errors.ts";
import { print, printJson, say } from "../output.ts";
import { table } from "../table.ts";
import { openModel, type OpenedModel } from "./open-model.ts";

export interface EvalFlags {
  readonly checkpoint: string;
  readonly batchSize: number;
  readonly length?: number;
  readonly engine?: string;
  readonly json?: boolean;
}

type Results = Readonly<Record<string, number>>;

export async function evaluate(given: string, file: string | undefined, flags: EvalFlags): Promise<void> {
  if (file === undefined)
    throw new UsageError(
      "`lm eval` needs a file of JSON lines: questions with `choices`, or what `finetune` trains on.",
    );
  if (!existsSync(file)) throw new UsageError(`There is no ${file}.`);
  const hasChoices = await asksQuestions(file);
  const opened = await openModel(given, flags);
  try {
    const results = await (hasChoices ? answered(opened, file, flags) : read(opened, file, flags));
    if (flags.json) return printJson({ model: opened.from, file, results });
    const rows = Object.entries(results).map(([name, value]) => [name, formatMetric(name, value)]);
    print(`${table(["metric", " value"], rows)}\nof ${opened.from} on ${file}`);
  } finally {
    await opened.trainer.close();
  }
}

/** The first line tells: a file has one kind. */
async function asksQuestions(file: string): Promise<boolean> {
  const bytes = createReadStream(file);
  const lines = createInterface({ input: file.endsWith(".gz") ? bytes.pipe(createGunzip()) : bytes });
  try {
    for await (const line of lines) if (line.trim() !== "") return /"choices"\s*:/.test(line);
    return false;
  } finally {
    bytes.destroy();
  }
}

async function answered({ trainer }: OpenedModel, file: string, { batchSize }: EvalFlags): Promise<Results> {
  const { logLikelihoods: _, ...results } = await scoreChoices(trainer, file, { batchSize });
  return results;
}

async function read({ model, trainer }: OpenedModel, file: string, flags: EvalFlags): Promise<Results> {
  const { batchSize, length } = flags;
  const data = await readExamples(file, model, length === undefined ? {} : { length });
  if (data.kind === "preference")
    throw new UsageError(
      `${file} has preferences. \`lm eval\` takes questions with \`choices\`, conversations or texts.`,
    );
  if (!flags.json) say(data.summary());
  return running(() => trainer.evaluate(data.loader({ batchSize, shuffle: false }), { name: "text" }));
}
