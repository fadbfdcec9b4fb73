// Processes in one run directory that cannot see each other's pids, as in two containers with a shared volume.
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { summarizeRun } from "../../src/runs/summary.ts";
import { newFolder } from "../crash/strace.ts";
import { compileTraining, intactCheckpoints, startTraining, train } from "../crash/training.ts";

const SIZE = { steps: 40, features: 16, logs: true };
/** A PID namespace of its own, in which the process is number 1, and which ends with the command. */
const CONTAINER = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
/** Another host name too. */
const NAMED_CONTAINER = ["unshare", "--uts", "sh", "-c", 'hostname other && exec "$@"', "sh", ...CONTAINER];

const hasNamespaces = ((): boolean => {
  try {
    execFileSync(NAMED_CONTAINER[0]!, [...NAMED_CONTAINER.slice(1), "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

const statusOf = async (runDir: string): Promise<string> => (await summarizeRun(runDir))!.status;

const home = newFolder();
beforeAll(() => compileTraining(home));
afterAll(() => rmSync(home, { recursive: true, force: true }));

describe.runIf(hasNamespaces)("two processes in one run directory across PID namespaces", () => {
  it.each([
    ["container and host", CONTAINER, []],
    ["host and container", [], CONTAINER],
    ["two containers, of which one resumes", CONTAINER, CONTAINER],
    ["two containers with other host names", NAMED_CONTAINER, CONTAINER],
  ])("%s: the second is refused and changes nothing", async (name, first, second) => {
    const runDir = `${home}/${name.replaceAll(/\W+/g, "-")}`;
    const resume = name.endsWith("resumes");
    const holder = startTraining(home, { runs: [{ runDir }], ...SIZE, steps: 1_000_000 }, first);
    onTestFinished(() => void holder.signal("SIGKILL"));
    await holder.until("saved");
    const lock = readFileSync(`${runDir}/checkpoints/.lock`, "utf8");
    const header = readFileSync(`${runDir}/metrics.jsonl`, "utf8").split("\n")[0]!;

    const other = startTraining(home, { runs: [{ runDir, resume }], ...SIZE, tellSteps: true }, second);
    const { error } = await other.until("failed");
    expect(error).toMatchObject({ type: "CheckpointError", file: `${runDir}/checkpoints/.lock` });
    expect(error!.message).toMatch(/process \d+ .*on \S+ uses the directory since \S+Z\. Wait for it or stop it/);
    expect(other.notes.map(({ note }) => note)).not.toContain("step");
    await other.exit;

    // The first one's lock, log and saves are as they were, and it goes on.
    expect(await statusOf(runDir)).toBe("running");
    expect(readFileSync(`${runDir}/checkpoints/.lock`, "utf8")).toBe(lock);
    expect(readFileSync(`${runDir}/metrics.jsonl`, "utf8").split("\n")[0]).toBe(header);
    const before = holder.notes.length;
    while (!holder.notes.slice(before).some(({ note }) => note === "saved")) await holder.until("saved");
    holder.signal("SIGKILL");
    await holder.exit;
  });

  it("a process that was killed in another namespace does not keep the directory", async () => {
    const runDir = `${home}/killed`;
    const holder = startTraining(home, { runs: [{ runDir }], ...SIZE, steps: 1_000_000 }, CONTAINER);
    onTestFinished(() => void holder.signal("SIGKILL"));
    await holder.until("saved");
    holder.signal("SIGKILL");
    await holder.exit;
    expect(await statusOf(runDir)).toBe("killed");
    const { step } = (await intactCheckpoints(runDir)).at(-1)!;
    const next = await train(home, { runs: [{ runDir, resume: true }], ...SIZE, steps: step + 20 });
    expect(next).toMatchObject({ step: step + 20, end: { status: "completed", resumedAt: step, warnings: [] } });
    expect(next.end!.checkpoints.filter((name) => name.startsWith("."))).toEqual([]);
  });
});
