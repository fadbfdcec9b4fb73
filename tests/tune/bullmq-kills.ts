// Runs a study over Redis while Redis and its workers are killed again and again: nothing may be lost or counted twice, and
// every trial must go on from its checkpoint.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Hook } from "../../src/core/hook.ts";
import type { JournalLine } from "../../src/tune/journal-format.ts";
import { bullmq } from "../../src/tune/runners/bullmq.ts";
import { random } from "../../src/tune/samplers/random.ts";
import { uniform } from "../../src/tune/space/parameters.ts";
import { Study } from "../../src/tune/study.ts";
import { trialNamed } from "../support/plain-study.ts";
import { startRedis } from "../support/redis-server.ts";
import { startWorker } from "../support/trial-worker.ts";

export interface KillTally {
  readonly redis: number;
  readonly workers: number;
  /** Attempts that were cut short. */
  readonly lost: number;
  /** Of them, those that went on from a checkpoint. */
  readonly resumed: number;
}

const WORKERS = 2;
const STEPS = 4;
const STUDY = "killed";

export async function killEverything(trials: number, kills: number): Promise<KillTally> {
  const dir = mkdtempSync(join(tmpdir(), "hookline-"));
  const redis = await startRedis();
  const workers = Array.from({ length: WORKERS }, () => startWorker(redis.url, STUDY, 2));
  const tally = { redis: 0, workers: 0 };
  const count = {
    name: "count",
    ended: 0,
    onTrialComplete(): void {
      this.ended++;
    },
  } satisfies Hook & { ended: number };
  try {
    const space = { x: uniform(0, 1) };
    const study = new Study({
      name: STUDY,
      space,
      sampler: random(space),
      objective: "loss",
      trials,
      concurrency: 2 * WORKERS,
      retries: 0,
      dir,
      trial: trialNamed("noted"),
      // Long enough that a worker which is only slow, on a busy machine, does not lose its trials.
      runner: bullmq({ redis: redis.url, lock: 5 }),
      signals: false,
      warn: () => undefined,
      hooks: [count],
    });
    const running = study.run();
    const over = running.then(
      () => true,
      () => true,
    );
    await Promise.race([workers[0]!.working, over]);
    for (let kill = 0; kill < 2 * kills; kill++) {
      // Spread over the study, whatever the machine's speed.
      const at = ((kill + 0.5) / (2 * kills)) * trials;
      for (let isOver = false; !isOver && count.ended < at;) isOver = await Promise.race([over, sleep(10, false)]);
      if (kill % 2 === 0) {
        await sleep(40 * Math.random());
        await redis.kill();
        await sleep(200 * Math.random());
        await redis.start();
        tally.redis++;
      } else {
        // A new worker may still be starting: all are killed, at a moment at which there is something to lose.
        for (let isOver = false; !isOver && !isInTheMiddle(dir);) isOver = await Promise.race([over, sleep(5, false)]);
        for (const which of workers.keys()) {
          workers[which]!.signal("SIGKILL");
          workers[which] = startWorker(redis.url, STUDY, 2);
        }
        tally.workers++;
      }
    }
    const { status } = await running;
    hasToHold(status === "completed", `the study was ${status}`);
    return { ...tally, ...checkStudy(dir, trials) };
  } finally {
    for (const worker of workers) worker.signal("SIGKILL");
    await Promise.all(workers.map(({ exit }) => exit));
    await redis.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

type Line<T extends JournalLine["type"]> = Extract<JournalLine, { type: T }>;

/**
 * Every trial was completed once, nothing was counted twice, and each attempt went on from the last checkpoint.
 * @param controllerKilled it could not write down that its trials' attempts had ended
 */
export function checkStudy(dir: string, trials: number, controllerKilled = false): { lost: number; resumed: number } {
  const lines = textLines(`${dir}/journal.jsonl`).map((line) => JSON.parse(line) as JournalLine);
  let lost = 0;
  let resumed = 0;
  for (let number = 0; number < trials; number++) {
    const own = lines.filter((line) => "trial" in line && line.trial === number);
    const of = <T extends JournalLine["type"]>(type: T): Line<T>[] =>
      own.filter((line) => line.type === type) as Line<T>[];
    const where = `trial ${number}`;
    hasToHold(of("completed").length === 1, `${where} was completed ${of("completed").length} times`);
    const steps = of("report").map(({ step }) => step);
    hasToHold(steps.join() === "1,2,3,4", `${where} reported ${steps.join()}`);
    hasToHold(
      of("failed").every((line) => line.lost === true),
      `${where} has failed by itself: ${JSON.stringify(of("failed"))}`,
    );
    const ended = of("failed").length + 1;
    const started = of("started").length;
    hasToHold(controllerKilled ? started >= ended : started === ended, `${where} was started ${started} times`);
    lost += of("failed").length;
    resumed += checkAttempts(`${dir}/trial-${String(number).padStart(3, "0")}`, own, where);
  }
  return { lost, resumed };
}

/** Has some trial a checkpoint, and more to do? */
function isInTheMiddle(dir: string): boolean {
  const lines = textLines(`${dir}/journal.jsonl`).map((line) => JSON.parse(line) as JournalLine);
  const last = new Map<number, JournalLine["type"]>();
  for (const line of lines) {
    const isAbout = line.type === "started" || line.type === "checkpoint" || line.type === "completed";
    if (isAbout) last.set(line.trial, line.type);
  }
  return [...last.values()].includes("checkpoint");
}

/** What the trial itself has noted: each attempt began once, from the last checkpoint that the study knew of. */
function checkAttempts(runDir: string, own: readonly JournalLine[], where: string): number {
  const starts = textLines(`${runDir}/starts.txt`);
  let known: string | undefined;
  let attempt = 0;
  let resumed = 0;
  for (const line of own) {
    if (line.type === "checkpoint") known = line.path;
    if (line.type !== "started") continue;
    hasToHold(line.resume?.path === known, `${where} went on from ${line.resume?.path}, not from ${known}`);
    const begun = starts.filter((text) => text.startsWith(`${attempt} `));
    // One whose worker was killed before it had begun has noted nothing.
    hasToHold(begun.length <= 1, `${where}: attempt ${attempt} was begun ${begun.length} times`);
    hasToHold(
      begun.every((text) => text === `${attempt} ${known ?? "-"}`),
      `${where}: ${begun.join()}`,
    );
    if (known !== undefined) resumed++;
    attempt++;
  }
  const done = textLines(`${runDir}/steps.txt`);
  // Of each attempt that was cut short, at most one step is done again.
  hasToHold(done.length < STEPS + attempt, `${where}: ${done.length} steps in ${attempt} attempts`);
  return resumed;
}

const textLines = (file: string): string[] => readFileSync(file, "utf8").trimEnd().split("\n");

function hasToHold(isTrue: boolean, what: string): void {
  if (!isTrue) throw new Error(what);
}
