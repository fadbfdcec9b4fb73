// A failing disk: ENOSPC, EIO and EROFS at each write, sync, rename and creation, and a disk that is really full.
import { execFile, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isSoak, oneIn } from "../support/repetitions.ts";
import type { Outcome } from "./save-child.ts";
import { findState, hiddenIn, prepare, recover, SCENARIOS } from "./scenario.ts";
import { compile, newFolder, straceWorks, Traced, type SystemCall } from "./strace.ts";

if (!straceWorks) console.warn("Injected disk errors are skipped: apt-get install strace, and allow ptrace");
const canMount = spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).status === 0;
if (!canMount) console.warn("The full disk is skipped: it needs `unshare -rm` with mount");

const home = newFolder();
beforeAll(() => compile(home, "tests/crash/save-child.ts", "tests/crash/full-disk-child.ts"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const FAILING: readonly SystemCall[] = ["write", "fsync", "rename", "mkdir", "openat"];

describe.runIf(straceWorks)("an error at each write, sync, rename and creation", () => {
  const codes = ["ENOSPC", "EIO", "EROFS"];
  const cases = ["overwrite", "keep last k"].flatMap((name) => codes.map((code, nth) => ({ name, code, nth })));

  // The three errors take turns over the points; in the soak each point meets all of them.
  test.concurrent.each(cases)("$code, $name", async ({ name, code, nth }) => {
    const scenario = SCENARIOS[name]!;
    const lane = `${home}/${name.replaceAll(" ", "-")}-${code}`;
    const template = `${lane}-before`;
    prepare(template, scenario);
    const reset = (): void => {
      rmSync(lane, { recursive: true, force: true });
      cpSync(template, lane, { recursive: true });
    };
    reset();
    const child = new Traced(lane, [`${home}/save-child.js`, lane, name], `${lane}.trace`);
    const all = (await child.record()).filter(({ call }) => FAILING.includes(call));
    const points = oneIn(codes.length, all, nth);
    let failed = 0;
    for (const point of points) {
      reset();
      const { output, trace } = await child.inject(point, `error=${code}`);
      const at = `${point.call} ${point.nth}`;
      expect(trace, at).toContain("(INJECTED)");
      const { error, leakedFiles } = JSON.parse(output) as Outcome;
      expect(leakedFiles, `files left open after ${at}`).toBe(0);
      const state = findState(lane, scenario);
      if (error) {
        failed++;
        expect(error, at).toMatchObject({ isCheckpointError: true, message: expect.stringContaining(code) });
        // Only a removal that failed may leave something, and then the save itself has succeeded.
        if (state === "old") expect(hiddenIn(lane), `left behind by ${at}`).toEqual([]);
      } else {
        expect(state, at).toBe("new");
      }
      recover(lane, scenario);
    }
    expect(failed).toBeGreaterThan(isSoak ? 12 : 4);
  });
});

test.runIf(canMount)("a disk of 2 MB that fills up, and one that turns read-only", async () => {
  const mount = `${home}/small`;
  mkdirSync(mount);
  const node = `"${process.execPath}" "${home}/full-disk-child.js" "${mount}/checkpoints"`;
  const script = `mount -t tmpfs -o size=2m none "${mount}" && ${node} full && mount -o remount,ro "${mount}" && ${node} read-only`;
  const { stdout } = await promisify(execFile)("unshare", ["-rm", "sh", "-ec", script]);
  const [full, readOnly] = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
  expect(full).toEqual({
    error: expect.stringMatching(
      /CheckpointError: .*model\.safetensors: the disk is full \(ENOSPC\)\. Free some space/,
    ),
    afterError: ["step-1"],
    loaded: 1,
    afterSmaller: ["step-1", "step-3"],
  });
  expect(readOnly).toEqual({
    error: expect.stringMatching(/CheckpointError: .*the file system is read-only \(EROFS\)\. Choose a directory/),
    loaded: 3,
  });
});
