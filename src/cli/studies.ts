// hookline studies: a table of studies with how they stand and their best trials, or all that is known of one.
import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import type { TrialInfo } from "../core/outer-events.ts";
import { formatDuration } from "../terminal/eta.ts";
import { importance } from "../tune/importance.ts";
import { FORMATS } from "../runs/layout.ts";
import { findStudies } from "../runs/directories.ts";
import { readStudy, type ReadStudy } from "../tune/study-store.ts";
import { StudyError } from "../tune/study-errors.ts";
import { UsageError, noDirectory } from "./errors.ts";
import { print, printJson, say, shownPath, typed } from "./output.ts";
import { bestOf, describeTrial, studyData, trialsTable, writeReport } from "./tune/study-output.ts";
import { table } from "./table.ts";
import { type CommandDescription, jsonFlag } from "./command.ts";

export const command: CommandDescription = {
  examples: `studies
studies runs/digits-sweep
studies runs/digits-sweep --report`,
  flags: (program) =>
    program
      .argument("[dir]", "a directory with studies, or the directory of one (default: runs)")
      .option("--report", "write report.md and report.html into the study's directory")
      .addOption(jsonFlag()),
};

interface Flags {
  readonly report?: boolean;
  readonly json?: boolean;
}

export async function run(given: string | undefined, flags: Flags): Promise<void> {
  const dir = given ?? "runs";
  if (given !== undefined && !existsSync(given)) throw noDirectory(given);
  if (existsSync(join(dir, FORMATS.journal.file))) return showOne(dir, flags);
  if (flags.report)
    throw new UsageError(`${dir} is no study: it has no ${FORMATS.journal.file}. --report is for one study.`);
  const dirs = findStudies(dir);
  const damaged: string[] = [];
  const found = dirs.flatMap((each) => {
    try {
      return readStudy(each) ?? [];
    } catch (error) {
      if (!(error instanceof StudyError)) throw error;
      damaged.push(error.message);
      return [];
    }
  });
  // One that cannot be read does not hide the others.
  for (const message of damaged) say(`warning: ${message}`);
  if (flags.json) return printJson(found.map((study) => studyData(study, study.dir)));
  if (found.length === 0 && damaged.length === 0)
    return say(`There are no studies in ${dir}. \`${typed("tune")}\` makes one.`);
  const rows = found.map((study) => {
    const best = bestOf(study);
    return [
      relative(dir, study.dir),
      study.status,
      String(study.trials.length),
      countsOf(study.trials),
      formatDuration(study.elapsed),
      best ? `trial ${best.number}: ${describeTrial(study, best)}` : "",
    ];
  });
  const narrow = { cut: "best", leaveOut: ["of them", " time", " trials"] };
  if (rows.length > 0) print(table(["study", "status", " trials", "of them", " time", "best"], rows, narrow));
}

/** `7 completed, 2 pruned`. */
function countsOf(trials: readonly TrialInfo[]): string {
  const states = ["completed", "pruned", "failed", "running", "interrupted", "paused", "waiting"] as const;
  return states
    .map((state) => [trials.filter(({ status }) => status === state).length, state] as const)
    .filter(([count]) => count > 0)
    .map(([count, state]) => `${count} ${state}`)
    .join(", ");
}

async function showOne(dir: string, { report, json }: Flags): Promise<void> {
  const study = readStudy(dir);
  if (!study) throw new UsageError(`The study in ${dir} has not begun: its journal is empty.`);
  const files = report ? await writeReport(study, dir) : undefined;
  if (json)
    return printJson({ ...studyData(study, dir), importance: sharesOf(study), ...(files && { report: files }) });
  const best = bestOf(study);
  const reason = study.reason === "" ? "" : ` (${study.reason})`;
  const shares = sharesOf(study);
  print(
    [
      `${study.name}: ${study.status}${reason}, ${study.trials.length} trials in ${formatDuration(study.elapsed)}`,
      ...(study.trials.length > 0 ? ["", trialsTable(study)] : []),
      ...(best ? ["", `The best is trial ${best.number}: ${describeTrial(study, best)}`] : []),
      ...(shares ? ["", importanceText(shares)] : []),
      ...(files ? ["", `The report is in ${shownPath(files.markdown)} and ${shownPath(files.html)}.`] : []),
    ].join("\n"),
  );
}

interface Shares {
  readonly parameters: readonly { readonly path: string; readonly share: number }[];
  readonly interactions: number;
  readonly fit: number;
}

/** Undefined where there are too few trials to say. */
function sharesOf({ space, trials, objectives }: ReadStudy): Shares | undefined {
  const found = importance(space, trials, objectives);
  return (
    found && {
      parameters: found.parameters.map(({ parameter, share }) => ({ path: parameter.path, share })),
      interactions: found.interactions,
      fit: found.fit,
    }
  );
}

function importanceText({ parameters, interactions, fit }: Shares): string {
  const percent = (share: number): string => `${Math.round(100 * share)}%`;
  const rows = [
    ...parameters.map(({ path, share }) => [path, percent(share)]),
    ["several together", percent(interactions)],
  ];
  const sure = fit < 0.3 ? " The trials say little about it yet." : "";
  return `${table(["parameter", " importance"], rows)}${sure && `\n${sure.trim()}`}`;
}
