// hookline tune: searches for good hyperparameters, as a sweep's file says.
import { dirname } from "node:path";
import type { Hook } from "../../core/hook.ts";
import { EXIT_CODES } from "../../platform/platform.ts";
import { readStudy } from "../../tune/study-store.ts";
import type { ReportedStudy } from "../../tune/types.ts";
import type { Space } from "../../tune/space/space.ts";
import { Study, type StudyResult } from "../../tune/study.ts";
import { buildSweep } from "../../tune/sweep/build-sweep.ts";
import { preflightSweep } from "../../tune/sweep/preflight-sweep.ts";
import { readSweep } from "../../tune/sweep/read-sweep.ts";
import { checkKind } from "../train/config-file.ts";
import { EXIT, running } from "../errors.ts";
import { keepStdoutFree, print, printJson, say, shownPath, typed } from "../output.ts";
import {
  allFailed,
  bestOf,
  describeTrial,
  makeStudyRoom,
  recordSweep,
  studyData,
  trialsTable,
  writeReport,
} from "./study-output.ts";
import { startUiBeside, uiFlag, type UiBeside } from "../ui-beside.ts";
import { trialTable } from "./trial-table.ts";
import { type CommandDescription, jsonFlag, quietFlag, setFlag } from "../command.ts";

export const command: CommandDescription = {
  examples: `tune sweep.yaml
tune sweep.yaml --set trials=50 --set sampler=random
tune sweep.yaml --json > study.json`,
  flags: (program) =>
    program
      .argument("<sweep>", "the sweep's file; started again, it resumes its study")
      .addOption(setFlag())
      .option("--fresh", "start a new study even if the directory has one, which is kept under another name")
      .addOption(uiFlag())
      .addOption(quietFlag())
      .addOption(jsonFlag()),
};

interface Flags {
  readonly set?: readonly string[];
  readonly fresh?: boolean;
  readonly ui?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

/** More are in the report. */
const SHOWN = 10;

export async function run(file: string, { set = [], fresh = false, ui, quiet, json }: Flags): Promise<number> {
  const sweep = await readSweep(file, { set });
  checkKind("sweep", sweep.doc);
  const options = await buildSweep(sweep);
  const dir = shownPath(options.dir);
  const giveStdoutBack = json ? keepStdoutFree() : undefined;
  let beside: UiBeside | undefined;
  try {
    // A study that has trials already has shown that its experiment works, and data may take long to read.
    if (fresh || !readStudy(dir)) await preflightSweep(sweep, options);
    if (fresh) makeStudyRoom(dir);
    if (ui) beside = await startUiBeside(dirname(dir));
    let begun = false;
    const watch: Hook = {
      name: "begun",
      onTuneSetup() {
        begun = true;
        // Without a worker nothing happens, and nothing else explains why.
        if (options.runner?.name === "bullmq" && !quiet)
          say(`Its trials are run by workers: \`${typed(`worker --redis <the sweep's> --study ${study.name}`)}\`.`);
      },
    };
    const shown = quiet ? [] : [trialTable(options.space)];
    const study = new Study({ ...options, hooks: [...(options.hooks ?? []), watch, ...shown] });
    await recordSweep(dir, sweep, set, study.objectives);
    const result = await study.run().catch(async (error: unknown) => {
      // What is wrong before the first trial is input that cannot be used.
      if (!begun) throw error;
      await writeReport(reportedOf(study, { status: "error", reason: (error as Error).message }), dir);
      if (allFailed(study.trials)) say(startAnew(file));
      return running(() => Promise.reject<StudyResult>(error));
    });
    const { trials } = study;
    const reported = reportedOf(study, result);
    const report = await writeReport(reported, dir);
    giveStdoutBack?.();
    if (json) printJson({ ...studyData(reported, dir), requestedBy: result.requestedBy, report });
    else if (!quiet) {
      const best = bestOf(reported);
      print(
        [
          ...(trials.length > 0 ? [trialsTable(reported, SHOWN)] : []),
          ...(best ? [`The best is trial ${best.number}: ${describeTrial(reported, best)}`] : []),
          ...ending(result, dir, report.html),
          ...(allFailed(trials) ? [startAnew(file)] : []),
        ].join("\n"),
      );
    }
    if (result.status === "interrupted") return EXIT_CODES[result.requestedBy] ?? EXIT.failed;
    // A study of failures has found nothing, however few of them there were.
    return allFailed(trials) ? EXIT.failed : EXIT.ok;
  } finally {
    beside?.close();
    giveStdoutBack?.();
  }
}

/** The same command would find this study, which has nothing but failures. */
const startAnew = (file: string): string =>
  `All trials failed. Fix what they failed with, then start over: ${typed(`tune ${file} --fresh`)}`;

function reportedOf(study: Study<Space>, { status, reason }: Pick<ReportedStudy, "status" | "reason">): ReportedStudy {
  const { name, space, objectives, elapsed, trials } = study;
  return { name, space, objectives, elapsed, trials, status, reason };
}

function ending({ status, reason }: StudyResult, dir: string, report: string): string[] {
  const files = `${status}${reason ? ` (${reason})` : ""}. Its files are in ${dir}, the report is ${report}.`;
  return status === "interrupted"
    ? [files, "Resume it with the same command. Interrupted trials resume from their last checkpoints."]
    : [files];
}
