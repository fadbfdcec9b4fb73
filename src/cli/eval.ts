// hookline eval: evaluates a model of a run.
import { formatMetric } from "../terminal/format-number.ts";
import { running } from "./lib/exit.ts";
import { keepStdoutFree, print, printJson } from "./lib/output.ts";
import { shownPath } from "./lib/shown-path.ts";
import { table } from "./lib/table.ts";
import { openTrained, type Wanted } from "./lib/trained.ts";

interface Flags extends Wanted {
  readonly json?: boolean;
}

export async function run(runDir: string, flags: Flags): Promise<void> {
  const giveStdoutBack = flags.json ? keepStdoutFree() : undefined;
  try {
    const { training, loader, hasOwnEvaluation, from } = await openTrained(runDir, flags);
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
    print(`${table(["metric", " value"], rows)}\nof ${shownPath(from)}`);
  } finally {
    giveStdoutBack?.();
  }
}
