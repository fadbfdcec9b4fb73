// hookline resume: continues a run with the config it was started with, or extends one that is complete.
import { thisProcess } from "../../runs/liveness.ts";
import { buildExperiment } from "../../experiment/build/build-experiment.ts";
import { hasMoreToTrain } from "../../experiment/previous-run.ts";
import { readResults, type SavedResults } from "../../runs/results.ts";
import { overridesOf } from "./config-file.ts";
import { UsageError } from "../errors.ts";
import { shownPath, typed } from "../output.ts";
import { checkNobodyThere, readRecord, recordedConfig } from "./run-directory.ts";
import { recordable, withoutSecrets } from "../../experiment/config/config-record.ts";
import { checkJoining, nothingLeft, runExperiment } from "./run-experiment.ts";
import { isMainRank } from "../ranks.ts";
import { type CommandDescription, jsonFlag, quietFlag, setFlag, wholeFrom } from "../command.ts";

export const command: CommandDescription = {
  examples: `resume runs/digits
resume runs/digits --epochs 20
resume runs/digits --set hooks.earlyStopping.patience=20`,
  flags: (program) =>
    program
      .argument("<runDir>", "the run's directory")
      .addOption(setFlag())
      .option("--epochs <n>", "how many epochs to train in all: more than a complete run has extend it", wholeFrom(1))
      .option("--no-replay", "do not repeat the commands that came after the last checkpoint")
      .addOption(quietFlag())
      .addOption(jsonFlag()),
};

interface Flags {
  readonly set?: readonly string[];
  readonly epochs?: number;
  readonly replay: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

export async function run(given: string, { set: changes, epochs, replay, quiet, json }: Flags): Promise<number> {
  const set = overridesOf(changes, { epochs });
  const { runDir, record, doc, options } = await prepare(given, set);
  const overrides = [...record.overrides, ...set.map(withoutSecrets)];
  const changed = { ...record, raw: recordable(doc), overrides, process: thisProcess() };
  const hooks = [...(options.hooks ?? []), ...(quiet ? [] : [nothingLeft()])];
  const control = doc.value["control"] === false ? undefined : replay ? {} : { replay };
  return runExperiment({ options: { ...options, hooks }, runDir, record: changed, resume: true, control, quiet, json });
}

export async function check(given: string, { set, epochs }: Flags): Promise<void> {
  const { options } = await prepare(given, overridesOf(set, { epochs }));
  checkJoining(options);
}

async function prepare(given: string, set: readonly string[]) {
  const runDir = shownPath(given);
  const record = readRecord(runDir);
  const saved = await readResults(runDir);
  const isComplete = saved?.status === "completed";
  if (isComplete && set.length === 0) throw new UsageError(complete(runDir, saved));
  if (isMainRank()) checkNobodyThere(runDir);
  const doc = await recordedConfig(runDir, record, set);
  // Hooks and loggers that need something from outside are the main rank's alone.
  const options = await buildExperiment(doc, { forRun: isMainRank() });
  if (isComplete && !hasMoreToTrain(options, saved)) throw new UsageError(complete(runDir, saved));
  return { runDir, record, doc, options };
}

function complete(runDir: string, { models }: SavedResults): string {
  const [{ training } = {}] = Object.values(models);
  const ended = training && training.status !== "completed" ? `, since a hook stopped it (${training.reason})` : "";
  const more = `\`${typed(`resume ${runDir} --epochs ${Math.max(2, 2 * (training?.epochs ?? 1))}`)}\` trains it further`;
  return `The run in ${runDir} is complete${ended}. ${ended ? "" : `${more}, to that many epochs in total. `}\`${typed("train")}\` starts another.`;
}
