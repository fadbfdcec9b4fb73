// hookline inspect: what is in a run, a checkpoint or a file of weights, and whether it is whole.
import { statSync } from "node:fs";
import { join } from "node:path";
import { type InspectedCheckpoint, describeCheckpoint, inspectCheckpoint } from "../checkpoint/weights/inspect.ts";
import { checkpointsIn, NothingHere } from "../checkpoint/weights/checkpoints-in.ts";
import type { SavedCheckpoint } from "../checkpoint/store.ts";
import { formatDuration } from "../terminal/eta.ts";
import { formatMetric } from "../terminal/format-number.ts";
import { EXIT } from "./errors.ts";
import { print, printJson, shortPaths } from "./output.ts";
import { CHECKPOINTS, FORMATS } from "../runs/layout.ts";
import { findDirectories } from "../runs/directories.ts";
import { summarizeRun } from "../runs/summary.ts";
import type { RunSummary } from "../runs/types.ts";
import { table } from "./table.ts";
import { type CommandDescription, jsonFlag } from "./command.ts";

export const command: CommandDescription = {
  examples: `inspect runs/digits
inspect runs/digits/checkpoints/step-000500
inspect model.safetensors --json`,
  flags: (program) =>
    program
      .argument("<path>", "a run's directory, a checkpoint, a .safetensors or .pt file")
      .option("--no-verify", "trust files of the right size without reading them")
      .addOption(jsonFlag()),
};

interface Flags {
  readonly verify: boolean;
  readonly json?: boolean;
}

/** Exits with 1 when something is damaged. */
export async function run(path: string, flags: Flags): Promise<number> {
  const isDirectory = statSync(path, { throwIfNoEntry: false })?.isDirectory();
  const dirs = isDirectory ? findDirectories(path, FORMATS.run.file) : [];
  const found = await Promise.all(dirs.map((dir) => inspectRun(path, dir, flags)));
  const parts =
    found.length > 0 ? found : [{ checkpoint: await inspectCheckpoint(path, { verifyDigests: flags.verify }) }];
  if (flags.json) printJson(found.length > 0 ? { runs: parts } : parts[0]!.checkpoint);
  else print(shortPaths(parts.map(describe).join("\n\n")));
  return parts.every(({ checkpoint }) => checkpoint?.valid !== false) ? EXIT.ok : EXIT.failed;
}

interface InspectedRun {
  readonly run?: RunSummary;
  readonly checkpoints?: readonly SavedCheckpoint[];
  /** The newest. */
  readonly checkpoint?: InspectedCheckpoint;
}

async function inspectRun(root: string, dir: string, { verify }: Flags): Promise<InspectedRun> {
  const run = await summarizeRun(dir, { exact: true }, root);
  try {
    const checkpoint = await inspectCheckpoint(dir, { verifyDigests: verify });
    const { checkpoints } = await checkpointsIn(join(dir, CHECKPOINTS));
    return { run, checkpoints, checkpoint };
  } catch (error) {
    if (!(error instanceof NothingHere)) throw error;
    return { run, checkpoints: [] };
  }
}

/** `, on native, which compiled for 0.21 s` */
function engineOf({ engine, compileSeconds }: RunSummary): string {
  if (engine === null) return "";
  return `, on ${engine}${compileSeconds === null ? "" : `, which compiled for ${compileSeconds.toFixed(2)} s`}`;
}

function describe({ run, checkpoints = [], checkpoint }: InspectedRun): string {
  const parts: string[] = [];
  if (run) {
    const reason = run.reason === null ? "" : ` (${run.reason})`;
    const total = run.totalSteps === null ? "" : ` of ${run.totalSteps}`;
    const head = `${run.dir}: run, ${run.status}${reason}, step ${run.step}${total}, ${formatDuration(run.elapsed)} of training${engineOf(run)}`;
    const best = Object.entries(run.best).map(([name, { value, step }]) => [
      name,
      formatMetric(name, value),
      `${step}`,
    ]);
    parts.push(head, ...(best.length > 0 ? [table(["metric", " best", " step"], best, { leaveOut: [" step"] })] : []));
  }
  if (checkpoints.length > 0) {
    // People count epochs from 1.
    const rows = checkpoints.map(({ name, step, epoch, reason, time }) => [
      name,
      `${step}`,
      `${epoch + 1}`,
      reason,
      new Date(time).toISOString(),
    ]);
    const narrow = { cut: "saved for", leaveOut: ["time", " epoch"] };
    parts.push(table(["checkpoint", " step", " epoch", "saved for", "time"], rows, narrow));
  } else if (run) parts.push("no checkpoints");
  if (checkpoint) parts.push(describeCheckpoint(checkpoint));
  return parts.join("\n\n");
}
