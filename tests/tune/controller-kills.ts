// Kills the controller of a study with local processes again and again, after random amounts of progress, and restarts it
// until the study is done: every trial must have finished once, with the parameters of a study without kills.
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { compile, newFolder } from "../crash/strace.ts";
import { startNoting, type NotingChild } from "../support/noting-child.ts";
import { Rng } from "../../src/data/random.ts";
import type { JournalLine } from "../../src/tune/journal-format.ts";
import { killedStudy, STEPS, TRIAL_MODULE, type KilledStudy } from "./killed-study.ts";

interface Done {
  readonly note: "done";
  readonly status: string;
}

export interface Tally {
  readonly kills: number;
  readonly studies: number;
  readonly trials: number;
  /** Attempts that were cut short. */
  readonly restarts: number;
}

const hasToHold = (isTrue: boolean, what: string): void => {
  if (!isTrue) throw new Error(what);
};

const KINDS = [
  { sampler: "tpe", concurrency: 1 },
  { sampler: "random", concurrency: 2 },
] as const;

/** A trial writes about 1 kB to the journal: several kills for each. */
const MOST_BYTES = 600;
/** Of so many kills one comes at any moment, also while the controller still starts. */
const ANY_MOMENT = 6;

export async function killControllers(kills: number, trials = 14, seed = 1): Promise<Tally> {
  const rng = new Rng(seed);
  const home = newFolder();
  try {
    await compile(home, "tests/tune/controller-child.ts", "src/tune/runners/trial-process.ts");
    writeFileSync(`${home}/trial.mjs`, TRIAL_MODULE);
    const tally = { kills: 0, studies: 0, trials: 0, restarts: 0 };
    while (tally.kills < kills) {
      const study = { ...KINDS[tally.studies % 2]!, trials };
      const dir = `${home}/study-${tally.studies}`;
      tally.kills += await runWithKills(home, { ...study, dir, home }, kills - tally.kills, rng);
      tally.restarts += await check(dir, study);
      tally.studies++;
      tally.trials += trials;
    }
    await allGone(home);
    return tally;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Runs it to its end, killing it so many times at most; how many times it was. */
async function runWithKills(home: string, study: KilledStudy, most: number, rng: Rng): Promise<number> {
  const journal = `${study.dir}/journal.jsonl`;
  for (let kills = 0; ; kills++) {
    const child: NotingChild<Done> = startNoting([`${home}/controller-child.js`, JSON.stringify(study)]);
    const ended = child.exit.then((): true => true);
    const next = rng.int(ANY_MOMENT) === 0 ? sleep(rng.int(400)) : grown(journal, 1 + rng.int(MOST_BYTES), ended);
    const over = kills >= most ? await ended : await Promise.race([ended, next]);
    if (over === true) {
      const { code, signal } = await child.exit;
      hasToHold(code === 0 && signal === null, `it ended with ${code}, ${signal}: ${child.errors()}`);
      return kills;
    }
    child.signal("SIGKILL");
    await child.exit;
  }
}

/** Resolves when the file has so many bytes more, or when it is over. */
async function grown(file: string, bytes: number, over: Promise<true>): Promise<void> {
  const size = (): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  const wanted = size() + bytes;
  for (let isOver = false; !isOver && size() < wanted;) isOver = await Promise.race([over, sleep(1, false)]);
}

async function check(dir: string, study: KilledStudy): Promise<number> {
  const reference = killedStudy(study);
  await reference.run();
  const text = readFileSync(`${dir}/journal.jsonl`, "utf8");
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as JournalLine);
  let restarts = 0;
  for (const { number, params, result } of reference.trials) {
    const of = lines.filter((line) => "trial" in line && line.trial === number);
    const kinds = (type: JournalLine["type"]): JournalLine[] => of.filter((line) => line.type === type);
    const where = `trial ${number} of ${study.sampler}`;
    hasToHold(kinds("suggested").length === 1, `${where}: suggested ${kinds("suggested").length} times`);
    const [suggested] = kinds("suggested") as [Extract<JournalLine, { type: "suggested" }>];
    hasToHold(JSON.stringify(suggested.params) === JSON.stringify(params), `${where}: another suggestion`);
    const completed = kinds("completed") as Extract<JournalLine, { type: "completed" }>[];
    hasToHold(completed.length === 1, `${where}: completed ${completed.length} times`);
    hasToHold(JSON.stringify(completed[0]!.result) === JSON.stringify(result), `${where}: another result`);
    const steps = (kinds("report") as Extract<JournalLine, { type: "report" }>[]).map(({ step }) => step);
    hasToHold(
      steps.join() === Array.from({ length: STEPS }, (_, i) => i + 1).join(),
      `${where}: steps ${steps.join()}`,
    );
    hasToHold(kinds("failed").length === 0, `${where}: failed`);
    const done = readFileSync(`${dir}/trial-${String(number).padStart(3, "0")}/steps.txt`, "utf8")
      .trim()
      .split("\n");
    // It goes on from its last checkpoint: of each attempt that was cut short, at most one step is done again.
    hasToHold(
      done.length < STEPS + kinds("started").length,
      `${where}: ${done.length} steps in ${kinds("started").length} attempts`,
    );
    restarts += kinds("started").length - 1;
  }
  hasToHold(
    lines.filter(({ type }) => type === "suggested").length === study.trials,
    "more trials than were asked for",
  );
  return restarts;
}

/** No process of a trial outlives its study. */
async function allGone(home: string): Promise<void> {
  const files = readdirSync(home, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith("pids.txt"));
  const pids = new Set(files.flatMap((file) => readFileSync(`${home}/${file}`, "utf8").trim().split("\n").map(Number)));
  // The test's own limit ends this where one stays.
  while ([...pids].some(isRunning)) await sleep(50);
}

function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state] = stat.slice(stat.lastIndexOf(")") + 2);
    return state !== "Z" && state !== "X" && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("trial-process");
  } catch {
    return false;
  }
}
