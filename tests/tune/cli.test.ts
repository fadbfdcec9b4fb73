// `hookline tune` and `hookline studies` as a user types them: what they print, what they leave, how they end and go on.
import { existsSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { SavedResults } from "../../src/runs/results.ts";
import { installHookline, type Installed } from "../cli/installed.ts";
import { CONFIG, tinyProject } from "../cli/tiny-project.ts";
import { redisIsHere, startRedis, WHERE_FROM } from "../support/redis-server.ts";
import { root } from "../support/sources.ts";

let installed: Installed;
beforeAll(async () => void (installed = await installHookline()));
afterAll(() => installed.remove());

const SWEEP = `name: tiny-sweep
experiment: ./hookline.yaml
space:
  optimizer.lr: { use: logUniform, low: 0.01, high: 0.2 }
sampler: random
seed: 3
trials: 3
`;

const TRIAL = `export async function train(trial) {
  for (let step = 1; step <= 5; step++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    await trial.report({ loss: (trial.params.x - 0.5) ** 2 + 1 / step }, step);
  }
}
export class Notes {
  name = "notes";
  onTrialComplete({ trial }) { console.log("note: trial " + trial.number); }
}
`;
const MODULE_SWEEP = `name: modules
trial: ./trial.mjs#train
objective: loss
space: { x: { use: uniform, low: 0, high: 1 } }
sampler: random
trials: 2
hooks: ./trial.mjs#Notes
`;

interface Trial {
  readonly number: number;
  readonly status: string;
  readonly params: object;
  readonly attempts: number;
  readonly step: number;
  readonly result: Readonly<Record<string, number>>;
}
interface Answer {
  readonly status: string;
  readonly best: Trial | null;
  readonly trials: readonly Trial[];
}

const sweepProject = (sweep = SWEEP, config = CONFIG): string =>
  installed.project({ ...tinyProject(config), "sweep.yaml": sweep, "trial.mjs": TRIAL });

const answerOf = ({ stdout }: { readonly stdout: string }): Answer => JSON.parse(stdout) as Answer;
const essence = ({ trials }: Answer): unknown =>
  trials.map(({ number, status, params, step, result }) => ({
    number,
    status,
    params,
    step,
    loss: result["val/loss"],
  }));

describe("a sweep over an experiment", () => {
  test("eval and predict use the model of a trial, with the trial's own parameters", async () => {
    // Neither is the config's: what is evaluated says whose parameters were used.
    const space = "split.test: { use: choice, options: [0.125, 0.5] }";
    const dir = sweepProject(SWEEP.replace(/optimizer\.lr: .*/, space));
    const { trials } = answerOf(await installed.hookline(dir, "tune", "sweep.yaml", "--json"));
    for (const { number, params } of trials) {
      const at = `runs/tiny-sweep/trial-00${number}`;
      const { code, stdout, stderr } = await installed.hookline(dir, "eval", at, "--json");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const { models } = JSON.parse(readFileSync(join(dir, at, "results.json"), "utf8")) as SavedResults;
      const { results, checkpoint } = models["model"]!;
      expect(JSON.parse(stdout)).toEqual({ checkpoint: `${at}/checkpoints/${checkpoint}`, on: "test", results });
      const rows = (await installed.hookline(dir, "predict", at)).stdout.trimEnd().split("\n");
      expect(rows).toHaveLength(64 * (params as { split: { test: number } }).split.test);
    }
    const { stderr } = await installed.hookline(dir, "eval", "runs/tiny-sweep");
    expect(stderr).toContain("runs/tiny-sweep has no experiment.json");
  });

  const queued = "in a queue: it says who is to run its trials";
  test.skipIf(!redisIsHere)(redisIsHere ? queued : `${queued}: skipped, ${WHERE_FROM}`, async () => {
    for (const peer of ["bullmq", "ioredis"])
      symlinkSync(join(root, "node_modules", peer), join(installed.package, "..", peer));
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    const dir = sweepProject(`${SWEEP}runner: { use: bullmq, redis: "${redis.url}" }\n`);
    const tune = installed.start(dir, "tune", "sweep.yaml");
    let said = "";
    tune.stderr!.on("data", (text: string) => void (said += text));
    await vi.waitFor(() => expect(said).toContain("--study tiny-sweep`."), { timeout: 300_000 });
    tune.kill("SIGINT");
    expect((await tune.ended).code).toBe(130);
  });

  test("runs, says what came of it, and leaves a study with a report", async () => {
    const dir = sweepProject();
    const { code, stdout, stderr } = await installed.hookline(dir, "tune", "sweep.yaml");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.split("\n");
    for (const [i, line] of lines.slice(0, 3).entries())
      expect(line).toMatch(
        new RegExp(`^trial ${i} completed: val/loss \\S+, step 12, 0:\\d\\d, optimizer.lr 0\\.\\d+$`),
      );
    expect(stdout).toMatch(/ trial +status +step +val\/loss +optimizer\.lr\n( +\d +completed +12 .*\n){3}/);
    expect(stdout).toMatch(/\nThe best is trial \d: val\/loss \S+, optimizer\.lr \S+\n/);
    expect(stdout).toContain(
      "completed (3 trials). Its files are in runs/tiny-sweep, the report is runs/tiny-sweep/report.html.\n",
    );
    const files = readdirSync(join(dir, "runs/tiny-sweep"));
    expect(files).toEqual(
      [
        "control",
        "journal.jsonl",
        "report.html",
        "report.md",
        "sweep.json",
        "trial-000",
        "trial-001",
        "trial-002",
      ].toSorted(),
    );
    expect(readFileSync(join(dir, "runs/tiny-sweep/report.html"), "utf8")).toContain("tiny-sweep");

    const again = await installed.hookline(dir, "tune", "sweep.yaml", "--json");
    expect(again.code).toBe(0);
    expect(answerOf(again)).toMatchObject({ status: "completed", best: { status: "completed" } });
    expect(answerOf(again).trials.map(({ attempts }) => attempts)).toEqual([1, 1, 1]);

    const more = await installed.hookline(dir, "tune", "sweep.yaml", "--quiet", "--set", "trials=4");
    expect(more).toMatchObject({ code: 0, stdout: "" });

    const other = await installed.hookline(dir, "tune", "sweep.yaml", "--set", "experiment.epochs=2");
    expect(other.code).toBe(2);
    expect(other.stderr).toContain(
      "The study in runs/tiny-sweep is over another experiment: `epochs` is 3 there and 2 here.",
    );
    const seed = await installed.hookline(dir, "tune", "sweep.yaml", "--set", "seed=4");
    expect(seed.code).toBe(2);
    expect(seed.stderr).toContain("has another `seed`: 3 there, 4 here");
    const fresh = await installed.hookline(dir, "tune", "sweep.yaml", "--fresh", "--json", "--set", "trials=1");
    expect(fresh.stderr).toContain("the study in runs/tiny-sweep is in runs/tiny-sweep.1 now");
    expect(answerOf(fresh).trials).toHaveLength(1);
  });

  test("a sweep whose trials all failed: says how to start anew, also when its experiment was mended", async () => {
    const dir = sweepProject(SWEEP);
    const broken = "experiment.hooks=[./parts.mjs#broken]";
    const failed = await installed.hookline(dir, "tune", "sweep.yaml", "--set", broken);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain("then start over: npx hookline tune sweep.yaml --fresh\n");
    const two = await installed.hookline(
      sweepProject(SWEEP),
      "tune",
      "sweep.yaml",
      "--set",
      broken,
      "--set",
      "trials=2",
    );
    expect(two.stdout).toContain("then start over: npx hookline tune sweep.yaml --fresh\n");
    const mended = await installed.hookline(dir, "tune", "sweep.yaml");
    expect(mended.code).toBe(2);
    expect(mended.stderr).toContain(
      "All of its trials failed, so there is nothing to continue: `npx hookline tune sweep.yaml --fresh` moves it aside",
    );
    const fresh = await installed.hookline(dir, "tune", "sweep.yaml", "--fresh", "--json");
    expect(answerOf(fresh)).toMatchObject({ status: "completed", best: { status: "completed" } });
  });

  test("a typo: 2, with its place, and nothing is made", async () => {
    const dir = sweepProject(SWEEP.replace("optimizer.lr", "optimizer.rl"));
    const { code, stdout, stderr } = await installed.hookline(dir, "tune", "sweep.yaml");
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^error: sweep\.yaml:4:3: optimizer\.rl: sgd: unknown option `rl`\..*\n$/);
    expect(existsSync(join(dir, "runs"))).toBe(false);
  });

  test("an experiment that would fail in every trial: 2 before the first one, and the study in the directory stays", async () => {
    const dir = sweepProject();
    const misfit = ["tune", "sweep.yaml", "--set", "experiment.model.in=3"];
    const { code, stdout, stderr } = await installed.hookline(dir, ...misfit);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^error: sweep\.yaml:2:1: experiment: No trial was started: .*\[8, 2\]/s);
    expect(existsSync(join(dir, "runs"))).toBe(false);
    await installed.hookline(dir, "tune", "sweep.yaml", "--set", "trials=1", "--quiet");
    expect((await installed.hookline(dir, ...misfit, "--fresh")).code).toBe(2);
    expect(readdirSync(join(dir, "runs"))).toEqual(["tiny-sweep"]);
  });

  test("Ctrl-C ends it in good order, kill -9 at once: the same command goes on, to the same study", async () => {
    const slow = `${CONFIG}  - { use: ./parts.mjs#slow, ms: 300 }\n`;
    const dir = sweepProject(SWEEP, slow);
    const journal = join(dir, "runs/tiny-sweep/journal.jsonl");
    const until = async (seen: (text: string) => boolean): Promise<void> => {
      while (!existsSync(journal) || !seen(readFileSync(journal, "utf8")))
        await new Promise((resolve) => setTimeout(resolve, 20));
    };
    const first = installed.start(dir, "tune", "sweep.yaml");
    await until((text) => text.includes('"checkpoint"'));
    first.kill("SIGINT");
    const interrupted = await first.ended;
    expect(interrupted.code).toBe(130);
    expect(interrupted.stdout).toContain("interrupted (SIGINT). Its files are in runs/tiny-sweep");
    expect(interrupted.stdout).toMatch(/^ +\d +interrupted /m);
    expect(interrupted.stdout).toContain(
      "Resume it with the same command. Interrupted trials resume from their last checkpoints.\n",
    );
    const report = readFileSync(join(dir, "runs/tiny-sweep/report.md"), "utf8");
    expect(report).toMatch(/\*\*\d trials?\*\*: .*1 interrupted\n/);

    const killed = installed.start(dir, "tune", "sweep.yaml");
    await until((text) => text.lastIndexOf('"started"') > text.lastIndexOf('"ended"'));
    const second = await installed.hookline(dir, "tune", "sweep.yaml");
    expect(second.code).toBe(2);
    expect(second.stderr).toContain(`another controller is at work in runs/tiny-sweep (process ${killed.pid} on`);
    killed.kill("SIGKILL");
    await killed.ended;
    expect((await installed.hookline(dir, "studies")).stdout).toMatch(/tiny-sweep +killed +\d .*1 interrupted/);

    const resumed = await installed.hookline(dir, "tune", "sweep.yaml", "--json");
    expect(resumed.code).toBe(0);
    expect(resumed.stderr).toMatch(/^tiny-sweep resumes: \d of its trials (has|have) ended\.\n/);
    const whole = await installed.hookline(dir, "tune", "sweep.yaml", "--json", "--set", "dir=runs/whole");
    expect(essence(answerOf(resumed))).toEqual(essence(answerOf(whole)));
  });
});

describe("a sweep over a function", () => {
  test("with a hook of its own; several at once; studies shows it and writes its report", async () => {
    const dir = sweepProject(MODULE_SWEEP);
    const set = ["--set", "sampler={ use: grid, points: 4 }", "--set", "trials=9", "--set", "concurrency=2"];
    const { code, stdout, stderr } = await installed.hookline(dir, "tune", "sweep.yaml", ...set);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.match(/^note: trial \d$/gm)).toHaveLength(4);
    const list = await installed.hookline(dir, "studies");
    expect(list.stdout).toMatch(
      /^study +status +trials +of them +time +best\nmodules +completed +4 +4 completed +0:\d\d +trial [12]: loss 0\.2278, x 0\.\d+\n$/,
    );
    const one = await installed.hookline(dir, "studies", "runs/modules", "--report");
    expect(one.stdout).toMatch(
      /^modules: completed \(4 trials\), 4 trials in 0:\d\d\n\n trial +status +step +loss +x\n/,
    );
    expect(one.stdout).toContain("The report is in runs/modules/report.md and runs/modules/report.html.");
    const json = JSON.parse((await installed.hookline(dir, "studies", "--json")).stdout) as Answer[];
    expect(json).toMatchObject([{ name: "modules", dir: "runs/modules", trials: [{ step: 5 }, {}, {}, {}] }]);
  });

  test("trials that fail alike end it: 1, with the error once, and the report has it", async () => {
    const dir = sweepProject(MODULE_SWEEP.replace("trials: 2", "trials: 9\nretries: 0"));
    const { code, stdout, stderr } = await installed.hookline(dir, "tune", "sweep.yaml", "--set", "objective=los");
    expect(code).toBe(1);
    const single = await installed.hookline(
      dir,
      "tune",
      "sweep.yaml",
      "--set",
      "objective=los",
      "--set",
      "trials=1",
      "--set",
      "name=single",
    );
    expect(single.code).toBe(1);
    expect(stdout).toContain("trial 0 failed: StudyError: The trial never reported its objective `los`.");
    expect(stderr.match(/never reported its objective/g)).toHaveLength(1);
    expect(readFileSync(join(dir, "runs/modules/report.md"), "utf8")).toContain("never reported its objective");
  });
});

test("usage: what is no study, and nothing to show", async () => {
  const dir = sweepProject();
  const ended = async (...args: readonly string[]) => {
    const { code, stderr } = await installed.hookline(dir, ...args);
    return [code, stderr];
  };
  expect(await ended("studies")).toEqual([0, "There are no studies in runs. `npx hookline tune` makes one.\n"]);
  expect(await ended("studies", "nowhere")).toEqual([2, "error: There is no directory nowhere.\n"]);
  expect(await ended("studies", ".", "--report")).toEqual([
    2,
    "error: . is no study: it has no journal.jsonl. --report is for one study.\n",
  ]);
  expect((await ended("tune"))[0]).toBe(2);
  expect(await ended("train", "sweep.yaml")).toEqual([
    2,
    "error: sweep.yaml is a sweep: run `npx hookline tune sweep.yaml`.\n",
  ]);
  expect(await ended("tune", "hookline.yaml")).toEqual([
    2,
    "error: hookline.yaml is the config of an experiment: run `npx hookline train hookline.yaml`. A sweep names it as its `experiment`, and says with `space` what to search.\n",
  ]);
  expect(await ended("tune", "sweeep.yaml")).toEqual([
    2,
    "error: There is no file sweeep.yaml. Did you mean `sweep.yaml`?\n",
  ]);
});
