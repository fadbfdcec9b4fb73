// hookline eval: evaluates a model of a run.
import type { Figure } from "../core/model.ts";
import { safeLine } from "../core/safe-text.ts";
import { formatMetric } from "../terminal/format-number.ts";
import { running } from "./errors.ts";
import { keepStdoutFree, print, printJson, shownPath } from "./output.ts";
import { table } from "./table.ts";
import { openTrained, type Wanted } from "./trained-model.ts";
import { Option } from "commander";
import { type CommandDescription, checkpointFlag, jsonFlag, modelFlag } from "./command.ts";

export const command: CommandDescription = {
  examples: `eval runs/digits
eval runs/digits --checkpoint step-000500 --on val
eval runs/compare --model large --json`,
  flags: (program) =>
    program
      .argument("<runDir>", "the run's directory")
      .addOption(checkpointFlag())
      .addOption(new Option("--on <part>", "the data to evaluate on").choices(["test", "val"]).default("test"))
      .addOption(modelFlag())
      .addOption(jsonFlag()),
};

interface Flags extends Wanted {
  readonly json?: boolean;
}

export async function run(runDir: string, flags: Flags): Promise<void> {
  const giveStdoutBack = flags.json ? keepStdoutFree() : undefined;
  try {
    const { training, loader, hasOwnEvaluation, from } = await openTrained(runDir, flags);
    let figures: Readonly<Record<string, Figure>> = {};
    training.trainer.on("evalEnd", (ctx) => void (figures = { ...figures, ...ctx.figures }));
    const results = await running(() =>
      training.closing(() =>
        hasOwnEvaluation && flags.on === "test"
          ? training.evaluate()
          : training.trainer.evaluate(loader, { name: flags.on }),
      ),
    );
    giveStdoutBack?.();
    if (flags.json) return printJson({ checkpoint: from, on: flags.on, results });
    const rows = Object.entries(results).map(([name, value]) => [name, formatMetric(name, value)]);
    const drawn = Object.entries(figures).map(([name, { text }]) => `\n\n${safeLine(name)}\n${text}`);
    print(`${table(["metric", " value"], rows)}\nof ${shownPath(from)}${drawn.join("")}`);
  } finally {
    giveStdoutBack?.();
  }
}
