// A rank that fails, is killed or gets a signal ends all ranks, and the run resumes from the checkpoint of the main rank.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { CHILD } from "./play.ts";
import { killRanks } from "./rank-kills.ts";
import { mpirunWorks, runRanks, startRanks, type RanksEnd } from "./ranks.ts";
import type { Scene, Seen } from "./scene.ts";

const dir = mkdtempSync(join(tmpdir(), "hookline-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const argsOf = (scene: Scene) => ({ args: [JSON.stringify([scene])] });
const seenIn = ({ notes }: RanksEnd): Seen[] => notes.filter(({ note }) => note === "seen") as unknown as Seen[];

describe.skipIf(!mpirunWorks)("a rank that fails", () => {
  it.each([
    [
      "throws in a hook",
      "throwsOnOne",
      "rank 1 of 2 has failed, and ends all: HookError: Hook `asks` failed in `stepEnd` at step 3: Error: a mistake of mine",
    ],
    [
      "changes its own parameters",
      "changesOne",
      "`2.bias` is not the same on all processes after step 100: rank 1 differs from rank 0",
    ],
    [
      "asks, on the main one only, for what must be asked on all",
      "lossOnMain",
      "ctx.setLoss must be called on all 2 alike",
    ],
  ])("%s: all end, and it says why", async (_, hook, message) => {
    const end = await runRanks(2, CHILD, argsOf({ name: hook, hooks: [hook], steps: 120 }));
    expect(end.code).toBe(1);
    expect(end.stderr).toContain(message);
    expect(end.stderr.match(/has failed, and ends all/g)).toHaveLength(1);
    expect(seenIn(end)).toEqual([]);
  });
});

describe.skipIf(!mpirunWorks)("all ranks fail at once", () => {
  it("the others wait until the main rank has written its emergency checkpoint", async () => {
    const runDir = `${dir}/all-fail`;
    const hooks = ["throwsOnAll", "slowToSave", "checkpoints"];
    const end = await runRanks(3, CHILD, argsOf({ name: "all", runDir, hooks, steps: 120 }));
    expect(end.code).toBe(1);
    expect(end.stderr.match(/has failed, and ends all/g)).toHaveLength(1);
    expect(end.stderr).toContain("rank 0 of 3 has failed, and ends all: HookError: Hook `asks` failed in `stepEnd`");
    expect(readdirSync(`${runDir}/checkpoints`)).toContain("step-000003");
  });
});

describe.skipIf(!mpirunWorks)("a signal", () => {
  it.each([
    ["SIGTERM", "rank 1", 143],
    ["SIGINT", "rank 0", 130],
    ["SIGUSR1", "mpirun", 138],
  ] as const)("%s to %s: all end after the same step, the main rank saves it", async (signal, to, code) => {
    const runDir = `${dir}/${signal}`;
    const options = argsOf({ name: signal, runDir, steps: 1e6, hooks: ["checkpoints", "slow"] });
    const run = startRanks(2, CHILD, { ...options, plain: true });
    const notes = [await run.until("step", 0), await run.until("step", 1)];
    if (to === "mpirun") run.signal(signal);
    else process.kill(notes[Number(to.at(-1))]!.pid, signal);
    const end = await run.end;
    expect(end.code, end.stderr).toBe(code);
    const [main, other] = seenIn(end) as [Seen, Seen];
    expect(main).toMatchObject({ status: "interrupted", reason: signal });
    expect(other).toMatchObject({ status: "interrupted", steps: main.steps, digest: main.digest });
    expect(readdirSync(`${runDir}/checkpoints`)).toContain(`step-${String(main.steps).padStart(6, "0")}`);
    await run.allGone();
  });
});

describe.skipIf(!mpirunWorks)("kill -9 of one rank", () => {
  it("twice: the others end, and the resumed run ends with the same bits", async () => {
    expect(await killRanks(2, 200)).toBe(2);
  });
});
