// `hookline launch`: a training in several processes looks like one from outside.
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { SavedResults } from "../../src/experiment/results-file.ts";
import { mpirunWorks } from "../distributed/ranks.ts";
import { root } from "../support/sources.ts";
import { installHookline, type Installed } from "./installed.ts";
import { CONFIG, tinyProject } from "./tiny-project.ts";

// Several processes one after the other, on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });

const SLOW = `${CONFIG}  - { use: ./parts.ts#slow, ms: 50 }\n`;
const times = (text: string, printed: string): number => printed.split(text).length - 1;

describe.skipIf(!mpirunWorks)("hookline launch", () => {
  let installed: Installed;
  beforeAll(async () => {
    installed = await installHookline();
    symlinkSync(join(root, "node_modules/koffi"), join(installed.package, "../koffi"));
  }, 60_000);
  afterAll(() => installed.remove(), 60_000);

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

  test("Ctrl-C ends all in good order, and resume goes on, with another number of them", async () => {
    const dir = installed.project(tinyProject(SLOW));
    const child = installed.start(dir, "launch", "-n", "2", "train");
    child.stderr!.on("data", (chunk) => {
      if (String(chunk).includes("one step is done")) child.kill("SIGINT");
    });
    const interrupted = await child.ended;
    expect(interrupted.code).toBe(130);
    expect(times("Go on with it: hookline resume runs/tiny", interrupted.stdout)).toBe(1);
    expect(resultsIn(join(dir, "runs/tiny")).status).toBe("interrupted");
    const resumed = await installed.hookline(dir, "launch", "-n", "3", "resume", "runs/tiny", "--json");
    expect(resumed.code).toBe(0);
    expect(JSON.parse(resumed.stdout)).toMatchObject({ models: { model: { training: { steps: 12 } } } });
  });

  test("a run that fails ends with 1, and says which rank failed and why", async () => {
    const dir = installed.project(tinyProject(`${CONFIG}  - ./parts.ts#broken\n`));
    const { code, stderr } = await installed.hookline(dir, "launch", "-n", "2", "train");
    expect(code).toBe(1);
    expect(stderr).toMatch(/rank [01] of 2 has failed, and ends all: .*out of luck/);
  });

  test("bad input ends with 2, said once", async () => {
    const dir = installed.project(tinyProject());
    const { code, stderr } = await installed.hookline(dir, "launch", "-n", "4", "train", "--set", "lr=1");
    expect(code).toBe(2);
    expect(times("error:", stderr)).toBe(1);
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
    expect(stderr).toContain("`mpirun` is not there. Install Open MPI (`apt-get install openmpi-bin`)");
  });
});
