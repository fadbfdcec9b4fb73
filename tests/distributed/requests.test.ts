// What a hook asks on one rank happens on all, at the same step, and the audit says who asked.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { play } from "./play.ts";
import { mpirunWorks } from "./ranks.ts";
import type { Scene, Seen } from "./scene.ts";
import { HOOKS } from "./train-hooks.ts";

const dir = mkdtempSync(join(tmpdir(), "hookline-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const ASKING = Object.keys(HOOKS).filter((name) => /^(stop|lr|skip|accumulate|freeze|eval)/.test(name));
const SCENES: readonly Scene[] = [
  ...ASKING.map((name): Scene => ({ name, hooks: [name], evalEvery: "2 steps" })),
  { name: "plain" },
  { name: "hookOff", hooks: ["rates", "hookOffOnOne"] },
  { name: "nan", hooks: ["nanOnOne", "nanGuard"] },
  { name: "earlyStopping", hooks: ["earlyStopping"], steps: 100, evalEvery: "2 steps" },
  { name: "save", hooks: ["saveOnOne"], runDir: `${dir}/save` },
  { name: "rollback", hooks: ["rollbackOnOne"], runDir: `${dir}/rollback` },
];

describe.skipIf(!mpirunWorks)("asked on one rank of two", () => {
  let seen: (scene: string) => readonly Seen[];
  beforeAll(async () => {
    seen = await play(2, SCENES);
  });

  /** What both ranks saw alike. */
  function both(scene: string): Seen {
    const [main, other] = seen(scene) as [Seen, Seen];
    for (const key of [
      "status",
      "reason",
      "steps",
      "losses",
      "lrs",
      "skipped",
      "digest",
      "checkpoints",
      "samplesSeen",
    ] as const)
      expect(other[key], key).toEqual(main[key]);
    return main;
  }

  it.each([
    ["stopInStepEnd", 7, "stepEnd", [1]],
    ["stopInEpochEnd", 8, "epochEnd", [1]],
    ["stopInLog", 4, "log", [0]],
    ["stopInEval", 4, "evalBatchEnd", [1]],
    ["stopEverywhere", 7, "stepEnd", [0, 1]],
  ])("%s: both stop after step %i", (scene, steps, event, ranks) => {
    expect(both(scene)).toMatchObject({ status: "stopped", reason: "enough", requestedBy: "asks", steps });
    for (const { interventions } of seen(scene))
      expect(interventions[0]).toMatchObject({ who: "asks", what: "stop", event, step: steps, ranks });
  });

  it.each([
    ["lrInStepEnd", 6, 0.5],
    ["lrInStepBegin", 5, 0.005],
    ["lrBeforeUpdate", 5, 0.5],
    ["lrOfGroup", 5, 0.5],
  ])("%s: both have the new rate from step %i on", (scene, from, lr) => {
    const { lrs } = both(scene);
    expect(lrs).toEqual(lrs.map((_, i) => (i + 1 < from ? 0.01 : lr)));
  });

  it("a hook that one rank switches off is off on both from the next step on", () => {
    const { lrs } = both("hookOff");
    expect(lrs.map((lr) => Math.round(lr * 1000))).toEqual(lrs.map((_, i) => Math.min(i + 1, 5)));
    for (const { interventions } of seen("hookOff"))
      expect(interventions.find(({ what }) => what === 'setHook("rates", false)')).toMatchObject({
        who: "asks",
        ranks: [1],
      });
  });

  it.each(["skipInStepBegin", "skipBeforeFetch", "skipInBatch", "skipBeforeUpdate"])(
    "%s: both leave out the step",
    (scene) => {
      expect(both(scene).skipped).toEqual([3]);
      // Whoever asked, and wherever in the step: nothing of it remains.
      expect(both(scene).digest).toBe(both("skipInStepBegin").digest);
    },
  );

  it("a batch is skipped on the rank that asked: its rows are left out, the others' count", () => {
    const { skipped, losses } = both("skipBatch");
    expect(skipped).toEqual([]);
    expect(losses[2]).not.toBe(both("plain").losses[2]);
    expect(seen("skipBatch")[1]!.interventions).toMatchObject([{ what: 'skip("batch")', ranks: [1] }]);
    expect(seen("skipBatch")[0]!.interventions).toEqual([]);
  });

  it("an epoch is skipped on both", () => {
    expect(both("skipEpoch").digest).not.toBe(both("plain").digest);
    expect(seen("skipEpoch")[0]!.interventions).toMatchObject([{ what: 'skip("epoch")', step: 3, ranks: [1] }]);
  });

  it("micro-batches, trained parameters and evaluations", () => {
    expect(both("accumulateOnMain").samplesSeen).toBeGreaterThan(both("plain").samplesSeen);
    expect(both("freezeOnOne").digest).not.toBe(both("plain").digest);
    expect(seen("freezeOnOne")[0]!.interventions).toMatchObject([{ what: 'setTrainable("2.")', ranks: [1] }]);
    expect(seen("evalOnOne")[0]!.interventions).toMatchObject([{ what: "requestEval", step: 3, ranks: [1] }]);
    both("evalOnOne");
  });

  it("a NaN in the rows of one is a step that both leave out", () => {
    expect(both("nan").skipped).toEqual([3]);
    expect(both("nan").losses[2]).toBe(null);
    expect(both("nan").digest).toBe(both("skipInStepBegin").digest);
  });

  it("an early stop ends both after the same evaluation", () => {
    expect(both("earlyStopping")).toMatchObject({ status: "stopped", requestedBy: "earlyStopping", steps: 4 });
    expect(seen("earlyStopping")[1]!.interventions).toMatchObject([{ what: "stop", ranks: [0, 1] }]);
  });

  it("a save is the main rank's, whoever asks for it", () => {
    expect(both("save").checkpoints).toEqual(["step-000003"]);
    expect(both("save").digest).toBe(both("plain").digest);
  });

  it("a rollback takes both to the same checkpoint", () => {
    expect(both("rollback").digest).not.toBe(both("plain").digest);
    expect(seen("rollback")[0]!.interventions.at(-1)).toMatchObject({ what: "rollback", step: 6, ranks: [1] });
  });
});
