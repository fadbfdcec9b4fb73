import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openDirectoryStore } from "../../checkpoint/stores/directory-store.ts";
import { memoryStore } from "../../checkpoint/stores/memory-store.ts";
import type { Hook } from "../../core/hook.ts";
import { tinyTrainer } from "../../testing/index.ts";
import type { Trainer } from "../../trainer/trainer.ts";
import { loader, script, scripted, best, stepsIn, keptOf, flaky, folder } from "../../../tests/support/checkpoints.ts";
import { bestCheckpoint, modelCheckpoint, type BestCheckpoint } from "./model-checkpoint.ts";

describe("the best", () => {
  const values = [5, 3, 4, 1, 2, 6];

  it("saveTopK: the best so many, of less or of more", async () => {
    expect(await keptOf(values, {})).toEqual([4]);
    expect(await keptOf(values, { saveTopK: 3 })).toEqual([2, 4, 5]);
    expect(await keptOf(values, { saveTopK: 2, mode: "max" })).toEqual([1, 6]);
    expect(await keptOf(values, { saveTopK: -1 })).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await keptOf(values, { saveTopK: 0 })).toEqual([]);
  });

  it("mode auto: by the metric's name", async () => {
    for (const [metric, steps] of [
      ["val/accuracy", [6]],
      ["val/x", [4]],
    ] as const) {
      const store = memoryStore();
      await using trainer = scripted(
        store,
        values,
        [script(values, metric), best({ monitor: metric })].slice(metric === "val/x" ? 1 : 0),
      );
      await trainer.fit();
      expect(await stepsIn(store)).toEqual(steps);
    }
  });

  it("other names of a metric are understood", async () => {
    expect(await keptOf(values, { monitor: "eval_x" })).toEqual([4]);
  });

  it("one that is no better is not written at all", async () => {
    const { store, attempts } = flaky(() => false);
    await using trainer = scripted(store, values, [best()]);
    await trainer.fit();
    expect(attempts).toEqual(["step-000001", "step-000002", "step-000004"]);
  });

  it("of equals the first stays, and NaN and infinities are never the best", async () => {
    expect(await keptOf([2, 2, 2], {})).toEqual([1]);
    expect(await keptOf([NaN, 3, NaN, -Infinity, 2, NaN], { saveTopK: 2 })).toEqual([2, 5]);
    expect(await keptOf([NaN, NaN], {})).toEqual([]);
    // As the newest it is kept all the same.
    expect(await keptOf([3, NaN], { saveLast: true })).toEqual([1, 2]);
    expect(await keptOf([NaN, NaN, 3, 4], { saveLast: true, saveTopK: 2 })).toEqual([3, 4]);
  });

  it("saveLast: the newest so many beside the best", async () => {
    expect(await keptOf(values, { saveLast: true })).toEqual([4, 6]);
    expect(await keptOf(values, { saveLast: 3 })).toEqual([4, 5, 6]);
    expect(await keptOf(values, { saveLast: 2, saveTopK: 0 })).toEqual([5, 6]);
  });

  it("milestones are kept for ever", async () => {
    expect(await keptOf(values, { milestones: 3 })).toEqual([3, 4, 6]);
    expect(await keptOf(values, { milestones: "2 epochs", saveLast: true })).toEqual([2, 4, 6]);
    expect(await keptOf(values, { milestones: { at: [1, 5] } })).toEqual([1, 4, 5]);
    expect(await keptOf(values, { milestones: "50%", mode: "max" })).toEqual([3, 6]);
  });

  it("saveTotalLimit: the best so many with a monitor, the newest without", async () => {
    expect(await keptOf(values, { saveTotalLimit: 3 })).toEqual([2, 4, 5]);
    expect(await keptOf(values, { saveTotalLimit: 2, saveTopK: 5 })).toEqual([4, 5]);
    expect(await keptOf(values, { saveTotalLimit: 1, saveLast: true })).toEqual([4, 6]);
    const store = memoryStore();
    await using trainer = tinyTrainer({
      store,
      save: "sync",
      hooks: [modelCheckpoint({ every: 1, saveTotalLimit: 3 })],
    });
    await trainer.fit();
    expect(await stepsIn(store)).toEqual([2, 3, 4]);
  });

  it("without a monitor all are kept on demand", async () => {
    const store = memoryStore();
    await using trainer = tinyTrainer({
      store,
      save: "sync",
      hooks: [modelCheckpoint({ every: 1, saveTopK: -1, saveLast: false })],
    });
    await trainer.fit();
    expect(await stepsIn(store)).toEqual([1, 2, 3, 4]);
  });

  it("the value is that of the boundary's own evaluation, not the one before", async () => {
    const store = memoryStore();
    const hook = modelCheckpoint({ monitor: "val/x", every: 2, saveTopK: 1, atEnd: false });
    const options = { samples: 16, epochs: 1, evalEvery: 2 };
    await using trainer = scripted(store, [9, 3, 9, 7], [hook], options);
    await trainer.fit();
    expect(await store.list()).toMatchObject([
      { step: 2, metrics: { "val/x": 3 } },
      { step: 4, metrics: { "val/x": 7 } },
    ]);
  });

  it("every with a monitor: saved on time, compared when there is a value of its own", async () => {
    // Steps 2, 4, 6 are on time, steps 3 and 6 are evaluated: 3 is compared for the occasion of 2.
    const { store, attempts } = flaky(() => false);
    const hook = modelCheckpoint({ monitor: "val/x", every: 2, saveTopK: 2, atEnd: false });
    await using trainer = scripted(store, [0, 0, 1, 0, 0, 2], [hook], { samples: 24, epochs: 1, evalEvery: 3 });
    await trainer.fit();
    expect(attempts).toEqual(["step-000002", "step-000003", "step-000004", "step-000006"]);
    // Step 4 shows the value of step 3 and is not one of the best for it.
    expect(await stepsIn(store)).toEqual([3, 6]);
    // Without saveLast only what can be compared is saved.
    expect(await keptOf([3, 1, 2, 0], { every: "2 epochs" })).toEqual([4]);
    expect(await keptOf([3, 1, 2, 5], { every: "2 epochs" })).toEqual([2]);
  });

  it("train/… metrics are compared at each epoch's end, with or without evaluations", async () => {
    for (const more of [{}, { eval: loader(), evalEvery: 2 }]) {
      const store = memoryStore();
      const hook = modelCheckpoint({ monitor: "train/loss", saveLast: false, atEnd: false });
      await using trainer = tinyTrainer({ epochs: 3, store, save: "sync", hooks: [hook], ...more });
      await trainer.fit();
      expect(await stepsIn(store)).toEqual([12]);
    }
  });

  it("saveOnTrainEpochEnd: compared at the epoch's end, if an evaluation has brought a value", async () => {
    const { store, attempts } = flaky(() => false);
    const hook = best({ saveOnTrainEpochEnd: true });
    await using trainer = scripted(store, [9, 9, 9, 5, 9, 9, 9, 4, 9], [hook], {
      samples: 12,
      epochs: 3,
      evalEvery: 4,
    });
    await trainer.fit();
    // Evaluations at steps 4 and 8; epochs end at 3, 6 and 9.
    expect(attempts).toEqual(["step-000006", "step-000009"]);
    const [saved] = await store.list();
    expect(saved!.metrics["train/loss"]).toBeTypeOf("number");
    const afterEvals = best({ monitor: "train/loss", saveOnTrainEpochEnd: false });
    await using none = tinyTrainer({ store: memoryStore(), hooks: [afterEvals] });
    await expect(none.fit()).rejects.toThrow(
      /`saveOnTrainEpochEnd: false` compares after evaluations, but there are none/,
    );
  });

  it("with several evaluation loaders it compares after the last", async () => {
    const { store, attempts } = flaky(() => false);
    const hook = best({ monitor: "hard/loss" });
    const trainer = tinyTrainer({
      samples: 4,
      epochs: 1,
      eval: { easy: loader(), hard: loader() },
      store,
      save: "sync",
      hooks: [hook],
    });
    await using _ = trainer;
    await trainer.fit();
    expect(attempts).toEqual(["step-000001"]);
  });

  it("strict: a monitor that is not there is an error that lists what is", async () => {
    // Declared, so that the run begins, but never logged.
    const silent = { name: "silent", logs: ["val/los"] };
    await using trainer = scripted(memoryStore(), [1], [silent, best({ monitor: "val/los" })]);
    await expect(trainer.fit()).rejects.toThrow(
      /modelCheckpoint: there is no metric `val\/los`. Did you mean `val\/loss`\? Metrics so far: .*val\/x.* set `strict: false`/,
    );
    expect(await keptOf([1, 2], { monitor: "val/los", strict: false })).toEqual([]);
  });

  it("what was evaluated before a rollback is not the value of what is saved after it", async () => {
    const back: Hook = { name: "back", onEpochEnd: (ctx) => (ctx.step === 2 ? ctx.rollback() : undefined) };
    const store = memoryStore();
    await using trainer = scripted(store, [3, 1, 2], [back, best()]);
    await trainer.fit();
    expect(await stepsIn(store)).toEqual([3]);
  });

  it("bestCheckpoint: other hooks find it through shared", async () => {
    const seen: (BestCheckpoint | undefined)[] = [];
    const looks: Hook = {
      name: "looks",
      stage: "logger",
      onAfterSave: (ctx) => void seen.push(ctx.shared.get(bestCheckpoint)),
    };
    const dir = folder();
    await using trainer = tinyTrainer({
      samples: 4,
      epochs: 3,
      eval: loader(),
      runDir: dir,
      save: "sync",
      hooks: [script([3, 1, 2]), best({ saveLast: true }), looks],
    });
    await trainer.fit();
    expect(seen.map((each) => each?.step)).toEqual([1, 2, 2]);
    const checkpoint = join(dir, "checkpoints", "step-000002");
    expect(seen.at(-1)).toEqual({ name: "step-000002", dir: checkpoint, metric: "val/x", value: 1, step: 2 });
  });
});

describe("a resumed run", () => {
  it("keeps by the same rules: the best of before count", async () => {
    for (const save of ["sync", "async"] as const) {
      const store = memoryStore();
      const values = [5, 1, 4, 2, 3, 9];
      const make = (): Trainer =>
        scripted(store, values, [best({ saveTopK: 2, saveLast: true, atEnd: true })], { save });
      await using first = make();
      await first.fit({ epochs: 3 });
      expect(await stepsIn(store), save).toEqual([2, 3]);
      await using second = make();
      const result = await second.fit({ resume: "auto" });
      expect(result.resumed?.restored).toContain("hook modelCheckpoint");
      expect(await stepsIn(store), save).toEqual([2, 4, 6]);
    }
  });

  it("on a disk, with milestones and names", async () => {
    const dir = folder();
    const make = (): Trainer =>
      tinyTrainer({
        samples: 4,
        epochs: 6,
        eval: loader(),
        runDir: dir,
        hooks: [script([3, 5, 4, 2, 6, 7]), best({ milestones: 2, saveLast: 1, filename: "x_{val/x}" })],
      });
    await using first = make();
    await first.fit({ epochs: 3 });
    await using second = make();
    await second.fit({ resume: "auto" });
    const kept = readdirSync(join(dir, "checkpoints"))
      .filter((name) => name.startsWith("x_"))
      .sort();
    expect(kept).toEqual(["x_val_x=2", "x_val_x=5", "x_val_x=7"]);
  });

  it("in another directory still knows what was best", async () => {
    const [from, to] = [folder(), folder()];
    const make = (runDir: string): Trainer =>
      tinyTrainer({
        samples: 4,
        epochs: 4,
        eval: loader(),
        runDir,
        save: "sync",
        hooks: [script([3, 1, 2, 0.5]), best()],
      });
    await using first = make(from);
    await first.fit({ epochs: 2 });
    await using second = make(to);
    const seen: (BestCheckpoint | undefined)[] = [];
    second.on("epochBegin", (ctx) => seen.push(ctx.shared.get(bestCheckpoint)));
    const source = join(from, "checkpoints", "step-000002");
    await second.fit({ epochs: 3, resume: source });
    expect(seen).toMatchObject([{ name: "step-000002", dir: source, value: 1 }]);
    const place = await openDirectoryStore(join(to, "checkpoints"), { readOnly: true }).catch(() => undefined);
    expect(place === undefined ? [] : await stepsIn(place)).toEqual([]);
    await place?.close();
    await second.fit({ epochs: 4 });
    const store = await openDirectoryStore(join(to, "checkpoints"), { readOnly: true });
    expect(await stepsIn(store)).toEqual([4]);
    await store.close();
  });

  it("that goes back to an older checkpoint keeps what it saves now", async () => {
    const store = memoryStore();
    const all = modelCheckpoint({ every: 1, saveTopK: -1 });
    await using first = tinyTrainer({ store, save: "sync", hooks: [all] });
    await first.fit();
    await using second = tinyTrainer({
      store,
      save: "sync",
      steps: 3,
      hooks: [modelCheckpoint({ every: 1, atEnd: false })],
    });
    await second.fit({ resume: "step-000002" });
    // Of the run that it branched off from, those up to there are its own; what lies beyond stays.
    expect((await store.list()).map(({ name }) => name)).toEqual(["step-000003", "step-000003-2", "step-000004"]);
  });

  it("a second fit goes on, a restart starts over", async () => {
    const store = memoryStore();
    await using trainer = scripted(store, [3, 1, 2, 0], [best()]);
    await trainer.fit({ epochs: 2 });
    await trainer.fit({ epochs: 3 });
    expect(await stepsIn(store)).toEqual([2]);
    await trainer.fit({ epochs: 1, restart: true });
    expect(await stepsIn(store)).toEqual([1, 2]);
  });
});

describe("two at once", () => {
  it("each keeps its own, and never removes what the other needs", async () => {
    for (const save of ["sync", "async"] as const) {
      const store = memoryStore();
      const low = best({ name: "low", mode: "min" });
      const high = best({ name: "high", mode: "max", filename: "high_{val/x}" });
      const last = modelCheckpoint({ name: "last", every: 2, saveLast: 2, atEnd: false });
      await using trainer = scripted(store, [5, 1, 9, 4, 3, 6], [low, high, last], { save });
      await trainer.fit();
      const owners = (await store.list()).map(({ step, by }) => `${step} ${by!.join(" ")}`);
      expect(
        owners.map((each) => Number(each.split(" ")[0])),
        save,
      ).toEqual([2, 3, 4, 6]);
      expect(owners.find((each) => each.startsWith("2"))).toContain("low");
      expect(owners.find((each) => each.startsWith("3"))).toContain("high");
    }
  });

  it("a milestone of one that another saves too is kept for ever", async () => {
    const store = memoryStore();
    const often = modelCheckpoint({ name: "often", every: 1, atEnd: false });
    const marks = modelCheckpoint({ name: "marks", milestones: 2, saveLast: false, atEnd: false });
    await using trainer = tinyTrainer({ steps: 7, epochs: 2, store, save: "sync", hooks: [often, marks] });
    await trainer.fit();
    expect(await stepsIn(store)).toEqual([2, 4, 6, 7]);
  });

  it("the same step under the same name at two boundaries makes two checkpoints", async () => {
    const store = memoryStore();
    const hooks = [
      modelCheckpoint({ name: "steps", every: 4, atEnd: false }),
      modelCheckpoint({ name: "epochs", atEnd: false }),
    ];
    await using trainer = tinyTrainer({ store, save: "sync", hooks });
    await trainer.fit();
    const saved = await store.list();
    expect(saved.map(({ name, by }) => [name, by])).toEqual([
      ["step-000004", ["steps"]],
      ["step-000004-2", ["epochs"]],
    ]);
  });
});
