// Ten minutes of faults over run directories (HOOKLINE_SOAK_SECONDS, HOOKLINE_SOAK_SEED): kills, stops, clocks that jump, a
// full disk, second processes from other PID namespaces, and locks that are taken away. Nothing is lost, nothing comes twice.
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { newFolder } from "../crash/strace.ts";
import { compileTraining, intactCheckpoints, train } from "../crash/training.ts";
import { FaultSchedule, SmallDisk } from "./fault-schedule.ts";

const SECONDS = Number(process.env["HOOKLINE_SOAK_SECONDS"] ?? 600);
const SEED = Number(process.env["HOOKLINE_SOAK_SEED"] ?? 1);
const SIZE = { steps: 1500, features: 16 };

/** The step of every record, in order. */
const recordsIn = (runDir: string): number[] =>
  readFileSync(`${runDir}/metrics.jsonl`, "utf8")
    .split("\n")
    .slice(1, -1)
    .map((line) => (JSON.parse(line) as { step: number }).step);

/** The same of the table. */
const rowsIn = (runDir: string): number[] =>
  readFileSync(`${runDir}/metrics.csv`, "utf8").split("\n").slice(1, -1).map(Number.parseFloat);

test(
  "every run ends with the bits of one without faults, and every record is there once",
  { timeout: (SECONDS + 600) * 1000 },
  async () => {
    const home = newFolder();
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    await compileTraining(home);
    const disk = new SmallDisk(`${home}/disk`);
    onTestFinished(() => disk.remove());
    const expected = await train(home, { runs: [{ runDir: `${home}/expected` }], logs: true, ...SIZE });
    const schedule = new FaultSchedule(home, disk, SEED);
    const until = performance.now() + SECONDS * 1000;
    const isOver = (): boolean => performance.now() > until;
    let runs = 0;
    while (!isOver()) {
      const runDir = `${disk.dir}/run-${++runs}`;
      const end = await schedule.train(runDir, SIZE, isOver);
      console.info(`run ${runs}: ${JSON.stringify(schedule.counts)}`);
      expect(end.end).toMatchObject({ status: "completed", digest: expected.end!.digest });
      expect(recordsIn(runDir)).toEqual(recordsIn(`${home}/expected`));
      expect(rowsIn(runDir)).toEqual(rowsIn(`${home}/expected`));
      expect((await intactCheckpoints(runDir)).at(-1)!.step).toBe(SIZE.steps);
      expect(readdirSync(`${runDir}/checkpoints`).filter((name) => name.startsWith("."))).toEqual([]);
      rmSync(runDir, { recursive: true });
    }
    expect(schedule.counts.attempts).toBeGreaterThan(0);
  },
);
