// `hookline launch`: a training in several processes looks like one from outside.
import { existsSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { SavedResults } from "../../src/runs/results.ts";
import { mpirunWorks } from "../distributed/ranks.ts";
import { root } from "../support/sources.ts";
import { installHookline, type Ended, type Installed } from "./installed.ts";
import { CONFIG, tinyProject } from "./tiny-project.ts";

const SLOW = `${CONFIG}  - { use: ./parts.mjs#slow, ms: 50 }\n`;
const times = (text: string, printed: string): number => printed.split(text).length - 1;

describe.skipIf(!mpirunWorks)("hookline launch", () => {
  let installed: Installed;
  let koffi: string;
  beforeAll(async () => {
    installed = await installHookline();
    koffi = join(installed.package, "../koffi");
    symlinkSync(join(root, "node_modules/koffi"), koffi);
  });
  afterAll(() => installed.remove());

  const resultsIn = (dir: string): SavedResults =>
    JSON.parse(readFileSync(join(dir, "results.json"), "utf8")) as SavedResults;

  test("trains as one process would, and says what it has to say once", async () => {
    const dir = installed.project(tinyProject());
    const alone = await installed.hookline(dir, "train", "--run-dir", "runs/alone");
    expect(alone.code).toBe(0);
    const { code, stdout, stderr } = await installed.hookline(dir, "launch", "-n", "2", "train");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(times("completed (1 model). Its files are in runs/tiny.", stdout)).toBe(1);
    const [one, two] = ["runs/alone", "runs/tiny"].map((run) => resultsIn(join(dir, run)).models["model"]!);
    expect(two!.training!.steps).toBe(12);
    expect(two!.checkpoint).toBe(one!.checkpoint);
    expect(two!.results!["test/loss"]).toBeCloseTo(one!.results!["test/loss"]!, 5);
    // The same run again puts the first aside, once.
    expect((await installed.hookline(dir, "launch", "-n", "2", "train", "--quiet")).code).toBe(0);
    expect([1, 2].map((n) => existsSync(join(dir, `runs/tiny.${n}`)))).toEqual([true, false]);
  });

  /** The signal when one step is done; with `again`, once more every second until it has ended. */
  function interrupted(dir: string, signal: NodeJS.Signals, again = false): Promise<Ended> {
    const child = installed.start(dir, "launch", "-n", "2", "train");
    let sent = false;
    child.stderr!.on("data", (chunk) => {
      if (sent || !String(chunk).includes("one step is done")) return;
      sent = true;
      child.kill(signal);
      if (!again) return;
      // Two that a busy process receives together count as one.
      const timer = setInterval(() => child.kill(signal), 1000);
      void child.ended.finally(() => clearInterval(timer));
    });
    return child.ended;
  }

  test("Ctrl-C ends all in good order, and resume goes on, with another number of them", async () => {
    const dir = installed.project(tinyProject(SLOW));
    const { code, stdout, stderr } = await interrupted(dir, "SIGINT");
    expect({ code, stderr }).toEqual({ code: 130, stderr: "one step is done\n".repeat(2) });
    expect(stdout.replaceAll("\r", "")).toBe(
      "interrupted (SIGINT). Its files are in runs/tiny.\nResume it: npx hookline launch -n 2 resume runs/tiny\n",
    );
    expect(resultsIn(join(dir, "runs/tiny"))).toMatchObject({ status: "interrupted", reason: "SIGINT" });
    const another = await installed.hookline(dir, "launch", "-n", "3", "train");
    expect(another.code).toBe(2);
    expect(another.stderr).toMatch(
      /^error: .*Continue it with the config it was started with: `npx hookline launch -n 3 resume runs\/tiny`;.*\n$/,
    );
    const resumed = await installed.hookline(dir, "launch", "-n", "3", "resume", "runs/tiny", "--json");
    expect(resumed.code).toBe(0);
    expect(JSON.parse(resumed.stdout)).toMatchObject({ models: { model: { training: { steps: 12 } } } });
  });

  test("SIGTERM is 143, and the run says so", async () => {
    const dir = installed.project(tinyProject(SLOW));
    expect((await interrupted(dir, "SIGTERM")).code).toBe(143);
    expect(resultsIn(join(dir, "runs/tiny"))).toMatchObject({ status: "interrupted", reason: "SIGTERM" });
  });

  test("a terminal that is closed ends the ranks too, with 129 and their checkpoint", async () => {
    const dir = installed.project(tinyProject(SLOW));
    expect((await interrupted(dir, "SIGHUP")).code).toBe(129);
    expect(resultsIn(join(dir, "runs/tiny"))).toMatchObject({ status: "interrupted" });
  });

  test("a second Ctrl-C ends all at once, with the same code", async () => {
    const dir = installed.project(tinyProject(SLOW.replace("ms: 50", "ms: 600000")));
    const { code, stderr } = await interrupted(dir, "SIGINT", true);
    expect({ code, stderr }).toEqual({ code: 130, stderr: "one step is done\n".repeat(2) });
  });

  test("a run that fails ends with 1, and says once which rank failed and why", async () => {
    const dir = installed.project(tinyProject(`${CONFIG}  - ./parts.mjs#broken\n`));
    const { code, stderr } = await installed.hookline(dir, "launch", "-n", "2", "train");
    expect(code).toBe(1);
    expect(stderr).toMatch(/^hookline: rank 0 of 2 has failed, and ends all: .*out of luck\n( {4}at .*\n)+$/);
  });

  test.each([
    ["an option", ["--set", "lr=1"]],
    ["a flag", ["--sett", "lr=1"]],
    ["a file", ["nowhere.yaml"]],
  ])("bad input ends as it does in one process: %s", async (_, args) => {
    const dir = installed.project(tinyProject());
    const alone = await installed.hookline(dir, "train", ...args);
    expect(alone.code).toBe(2);
    expect(await installed.hookline(dir, "launch", "-n", "4", "train", ...args)).toEqual(alone);
  });

  test("a dry run and help need no processes", async () => {
    const dir = installed.project(tinyProject());
    for (const flag of ["--dry-run", "--help"]) {
      const alone = await installed.hookline(dir, "train", flag);
      expect(alone.code).toBe(0);
      expect(await installed.hookline(dir, "launch", "-n", "2", "train", flag)).toEqual(alone);
    }
  });

  test("says what to install where there is no koffi", async () => {
    const dir = installed.project(tinyProject());
    rmSync(koffi);
    const end = await installed.hookline(dir, "launch", "-n", "2", "train");
    symlinkSync(join(root, "node_modules/koffi"), koffi);
    expect(end).toEqual({ code: 2, stdout: "", stderr: expect.stringMatching(/^error: .*npm install koffi@.*\n$/) });
  });

  test("starts nothing but trainings", async () => {
    const dir = installed.project();
    const { code, stderr } = await installed.hookline(dir, "launch", "-n", "2", "inspect", ".");
    expect(code).toBe(2);
    expect(stderr).toBe("error: `launch` starts `train` or `resume`, not `inspect`.\n");
  });

  test("says what to install where there is no mpirun", async () => {
    const dir = installed.project(tinyProject());
    vi.stubEnv("PATH", "/nowhere");
    const { code, stderr } = await installed.hookline(dir, "launch", "-n", "2", "train");
    vi.unstubAllEnvs();
    expect(code).toBe(2);
    expect(stderr).toContain("`mpirun` is not installed. Install Open MPI (`apt-get install openmpi-bin`)");
  });
});
