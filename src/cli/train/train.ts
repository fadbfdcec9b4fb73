// hookline train: from a config to a trained model.
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { buildExperiment } from "../../experiment/build/build-experiment.ts";
import { Experiment } from "../../experiment/experiment.ts";
import type { ControlOptions } from "../../hooks/control/control.ts";
import type { ConfigDocument } from "../../experiment/config/config-tree.ts";
import { readConfig } from "../../experiment/config/read-config.ts";
import { checkKind, findConfig, overridesOf, type Shortcuts } from "./config-file.ts";
import { EXIT, UsageError } from "../errors.ts";
import { keepStdoutFree, print, printJson, shownPath } from "../output.ts";
import { describePlan, planOf } from "./dry-run.ts";
import { checkRoom, makeRoom, newRecord } from "./run-directory.ts";
import { checkJoining, runExperiment } from "./run-experiment.ts";
import { isMainRank } from "../ranks.ts";
import { startUiBeside, uiFlag } from "../ui-beside.ts";
import { type CommandDescription, jsonFlag, nonEmpty, quietFlag, setFlag, wholeFrom } from "../command.ts";

export const command: CommandDescription = {
  examples: `train
train digits.yaml --set optimizer.lr=1e-3 --set hooks.earlyStopping.patience=5
train --epochs 1 --run-dir runs/try --quiet
train --dry-run
train --json > result.json`,
  flags: (program) =>
    program
      .argument("[config]", "the config; default: hookline.yaml, .yml, .toml, .json or .ts in this directory")
      .addOption(setFlag())
      .option("--run-dir <dir>", "where the run's files go", nonEmpty)
      .option("--engine <name>", "the compute engine: auto, native, wasm, webgpu or xla")
      .option("--epochs <n>", "how many epochs to train", wholeFrom(1))
      .option("--seed <n>", "the seed of everything random", wholeFrom(0))
      .option(
        "--fresh",
        "start a new run even if the directory has an unfinished one, which is kept under another name",
      )
      .option(
        "--replay <journal>",
        "repeat the commands of another run at the same steps: runs/a/control.jsonl",
        nonEmpty,
      )
      .option("--dry-run", "check the config against the data and show what would run; nothing is trained or written")
      .addOption(uiFlag())
      .addOption(quietFlag())
      .addOption(jsonFlag()),
};

interface Flags extends Shortcuts {
  readonly set?: readonly string[];
  readonly fresh?: boolean;
  readonly replay?: string;
  readonly dryRun?: boolean;
  readonly ui?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

export async function run(given: string | undefined, flags: Flags): Promise<number | void> {
  const { fresh = false, dryRun, quiet, json } = flags;
  const { doc, overrides, options, runDir } = await prepare(given, flags);
  if (dryRun) {
    const giveStdoutBack = keepStdoutFree();
    const found = await new Experiment({ ...options, runDir }).preflight().finally(giveStdoutBack);
    const plan = planOf(doc, options, runDir, found);
    return json ? printJson(plan) : print(describePlan(plan));
  }
  if (isMainRank()) await makeRoom(runDir, fresh);
  const record = newRecord(runDir, options.name ?? "experiment", doc, overrides);
  const beside = flags.ui && isMainRank() ? await startUiBeside(dirname(runDir)) : undefined;
  try {
    return await runExperiment({
      options,
      runDir,
      record,
      resume: false,
      control: controlOf(doc, flags.replay),
      quiet,
      json,
    });
  } finally {
    beside?.close();
  }
}

/** `control: false` in the config leaves it out. */
function controlOf({ value }: ConfigDocument, replay: string | undefined): ControlOptions | undefined {
  if (replay !== undefined && !existsSync(replay)) throw new UsageError(`There is no journal ${replay}.`);
  if (value["control"] === false && replay === undefined) return undefined;
  return replay === undefined ? {} : { script: replay };
}

/** A dry run needs no process group. */
export async function check(given: string | undefined, flags: Flags): Promise<number | void> {
  if (flags.dryRun) return (await run(given, flags)) ?? EXIT.ok;
  const { options, runDir } = await prepare(given, flags);
  await checkRoom(runDir, flags.fresh ?? false);
  checkJoining(options);
}

async function prepare(given: string | undefined, flags: Flags) {
  // A path in a config is relative to its project, one on the command line to the current directory.
  const place = flags.runDir === undefined ? undefined : resolve(flags.runDir);
  const overrides = overridesOf(flags.set, { ...flags, runDir: place });
  const doc = await readConfig(findConfig(given), { set: overrides });
  checkKind("experiment", doc);
  // Only the main rank has hooks and loggers that need external services.
  const options = await buildExperiment(doc, { forRun: !flags.dryRun && isMainRank() });
  return { doc, overrides, options, runDir: shownPath(options.runDir!) };
}
