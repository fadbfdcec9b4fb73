// Runs, checkpoints and a study written by version 0.1 still open, resume to the same bits and show in every command.
// spirals-0.1.tar.gz was made with commit 52d9aba on Node 20, engine wasm: one run that completed, the same run killed
// (SIGKILL) and interrupted (SIGTERM) on its way, and a study whose controller was killed in its third trial.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readWeights } from "hookline/checkpoint";
import { readRun } from "hookline/runs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { installHookline, type Installed } from "../cli/installed.ts";
import { root } from "../support/sources.ts";

let installed: Installed;
let project: string;

beforeAll(async () => {
  installed = await installHookline();
  project = installed.project();
  const archive = join(root, "tests/compatibility/spirals-0.1.tar.gz");
  execFileSync("tar", ["-xzf", archive, "-C", project, "--strip-components=1"]);
});
afterAll(() => installed.remove());

async function hookline(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await installed.hookline(project, ...args);
  expect(code, `hookline ${args.join(" ")}: ${stderr}`).toBe(0);
  return stdout;
}

/** Floating-point results may differ between Node versions, so bits are compared on the version that wrote the files. */
const isSameNode = process.versions.node.startsWith("20.");

describe("a run", () => {
  test.each(["killed", "interrupted"])("that was %s resumes to the result of the uninterrupted one", async (name) => {
    await hookline("resume", `runs/${name}`, "--quiet");
    const last = "checkpoints/step-000020/model.safetensors";
    const [expected, resumed] = await Promise.all(
      ["spirals", name].map((run) => readWeights(join(project, "runs", run, last))),
    );
    if (isSameNode) expect(resumed).toEqual(expected);
    const [whole, run] = await Promise.all(["spirals", name].map((each) => readRun(join(project, "runs", each))));
    expect(run!.info).toMatchObject({ status: "completed", step: 20 });
    // The old part of the log stays: its steps need not be those that this version would log.
    const logged = run!.get("loss");
    expect([...logged.steps]).toEqual([...logged.steps].sort((a, b) => a - b));
    const expectedLosses = new Map(
      [...whole!.get("loss").steps].map((step, i) => [step, whole!.get("loss").values[i]]),
    );
    for (const [i, step] of logged.steps.entries()) {
      if (isSameNode && expectedLosses.has(step)) expect(logged.values[i]).toBe(expectedLosses.get(step));
    }
    expect(logged.steps.at(-1)).toBe(20);
  });

  test("shows in every command", async () => {
    expect(await hookline("runs")).toMatch(/^spirals +completed +20 /m);
    expect(await hookline("inspect", "runs/spirals")).toContain("step-000020");
    expect(await hookline("inspect", "runs/spirals/checkpoints/step-000020")).toContain("model-ema");
    const { models } = JSON.parse(readFileSync(join(project, "runs/spirals/results.json"), "utf8")) as {
      models: { model: { results: Record<string, number> } };
    };
    const { results } = JSON.parse(await hookline("eval", "runs/spirals", "--json")) as { results: unknown };
    if (isSameNode) expect(results).toEqual(models.model.results);
    expect((await hookline("predict", "runs/spirals")).trimEnd().split("\n")).toHaveLength(20);
    await hookline("convert", "runs/spirals/checkpoints/step-000020", "spirals.pt");
    expect(await readWeights(join(project, "spirals.pt"))).toEqual(
      await readWeights(join(project, "runs/spirals/checkpoints/step-000020")),
    );
  });
});

describe("a study", () => {
  test("whose controller was killed continues: finished trials stay as they were, the others complete", async () => {
    expect(await hookline("studies")).toContain("2 completed");
    const before = JSON.parse(await hookline("studies", "runs/spirals-sweep", "--json")) as unknown;
    const after = JSON.parse(await hookline("tune", "sweep.yaml", "--json")) as { status: string; trials: unknown[] };
    expect(after.status).toBe("completed");
    expect(after.trials).toHaveLength(3);
    expect((before as { trials: unknown[] }).trials.slice(0, 2)).toEqual(after.trials.slice(0, 2));
  });
});
