// Kills a native training with epochs, evaluations, top-3 checkpoints and EMA at random points of its progress, and
// resumes it until it is done: the same bits as without kills, and every record once in every log.
import { readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Rng } from "../../src/data/index.ts";
import { readScalars } from "../support/event-file.ts";
import { startNoting, type NotingChild } from "../support/noting-child.ts";
import type { LoggedTrainingNote, LoggedTrainingOptions } from "./logged-training-child.ts";
import { compile, newFolder } from "./strace.ts";

export interface LoggedKills {
  readonly kills: number;
  /** Kills before the training had begun. */
  readonly early: number;
  readonly steps: number;
  /** Records in metrics.jsonl and rows in metrics.csv. */
  readonly records: number;
  /** Scalars in the event files. */
  readonly scalars: number;
  /** Event files, one for each time that the training began or was resumed. */
  readonly parts: number;
}

const STEPS_PER_EPOCH = 8;
const nodeModules = fileURLToPath(new URL("../../node_modules", import.meta.url));

type Child = NotingChild<LoggedTrainingNote>;

export async function killLoggedTraining(
  kills: number,
  tell: (message: string) => void = () => {},
): Promise<LoggedKills> {
  const home = newFolder();
  try {
    const threads = ["src/loggers/logging-worker.ts", "src/checkpoint/stores/disk-worker.ts"];
    await compile(
      home,
      "tests/crash/logged-training-child.ts",
      ...threads,
      "src/engines/native/threads/pool-worker.ts",
    );
    // The native engine finds its library from where the compiled program lies.
    symlinkSync(nodeModules, `${home}/node_modules`);
    const start = (options: LoggedTrainingOptions): Child =>
      startNoting([`${home}/logged-training-child.js`, JSON.stringify(options)]);
    // A kill lets up to 20 steps pass, and the run resumes from the last checkpoint before it.
    const epochs = 4 + 2 * kills;
    const whole = await start({ runDir: `${home}/whole`, epochs, pause: 0 }).until("result");
    const runDir = `${home}/killed`;
    const rng = new Rng(kills);
    let early = 0;
    let step = 0;
    for (let kill = 1; kill <= kills; kill++) {
      const child = start({ runDir, epochs, pause: 2 });
      if (!(await reachRandomPoint(child, rng, kill % 8 === 0))) early++;
      child.signal("SIGKILL");
      const { signal } = await child.exit;
      if (signal !== "SIGKILL") throw new Error(`kill ${kill}: the training ended by itself. ${child.errors()}`);
      step = child.notes.at(-1)?.step ?? step;
      if (kill % 20 === 0) tell(`${kill} kills, step ${step} of ${whole.step}`);
    }
    const end = await start({ runDir, epochs, pause: 0 }).until("result");
    mustEqual("the warnings", end.warnings, []);
    mustEqual("the parameters", end.digest, whole.digest);
    const checkpoints = (dir: string): string[] => readdirSync(`${dir}/checkpoints`).sort();
    mustEqual("the checkpoints", checkpoints(runDir), checkpoints(`${home}/whole`));
    const [records, expected] = [recordsOf(runDir), recordsOf(`${home}/whole`)];
    for (const log of ["jsonl", "csv", "tensorboard"] as const) mustEqual(log, records[log], expected[log]);
    const parts = readdirSync(`${runDir}/tb`).length;
    return {
      kills,
      early,
      steps: end.step,
      records: records.jsonl.length,
      scalars: records.tensorboard.length,
      parts,
    };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Waits until the child has done some steps by its own account, then a moment longer. False: it is not that far yet. */
async function reachRandomPoint(child: Child, rng: Rng, isEarly: boolean): Promise<boolean> {
  if (isEarly) {
    await sleep(rng.next() * 500);
    return child.notes.length > 0;
  }
  const { step: from } = await child.until("starting");
  const to = from + rng.int(2 * STEPS_PER_EPOCH);
  for (let at = from; at < to;) at = (await child.until("step")).step;
  await sleep(rng.next() * 8);
  return true;
}

/** What each log holds, as text, without what depends on the clock. */
function recordsOf(runDir: string): Record<"jsonl" | "csv" | "tensorboard", string[]> {
  const isTimed = (name: string): boolean => name === "time" || name === "elapsed" || name.startsWith("perf/");
  const shown = (entries: readonly (readonly [string, unknown])[]): string =>
    JSON.stringify(entries.filter(([name]) => !isTimed(name)).sort(([a], [b]) => (a < b ? -1 : 1)));
  const lines = (file: string): string[] => readFileSync(`${runDir}/${file}`, "utf8").trimEnd().split("\n");
  const [, ...jsonl] = lines("metrics.jsonl");
  const [header, ...rows] = lines("metrics.csv");
  const columns = header!.split(",");
  return {
    jsonl: jsonl.map((line) => shown(Object.entries(JSON.parse(line) as object))),
    csv: rows.map((row) => {
      const cells = row.split(",").map((cell, i) => [columns[i]!, cell] as const);
      return shown(cells.filter(([, cell]) => cell !== ""));
    }),
    tensorboard: readScalars(`${runDir}/tb`).flatMap(({ step, tag, value }) =>
      isTimed(tag) ? [] : [`${step} ${tag} ${value}`],
    ),
  };
}

/** The first difference says more than two long lists. */
function mustEqual(what: string, found: unknown, expected: unknown): void {
  const [a, b] = [found, expected].map((value) => (Array.isArray(value) ? (value as unknown[]) : [value]));
  const at = Array.from({ length: Math.max(a!.length, b!.length) }, (_, i) => i).find((i) => a![i] !== b![i]);
  if (at === undefined) return;
  const around = (list: readonly unknown[]): string => list.slice(Math.max(0, at - 1), at + 2).join("\n    ");
  throw new Error(
    `${what} of the killed run differ at ${at} (${a!.length} against ${b!.length}):\n    ${around(a!)}\n  instead of\n    ${around(b!)}`,
  );
}
