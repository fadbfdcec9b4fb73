import { describe, expect, it } from "vitest";
import type { CheckpointStore } from "../../checkpoint/store.ts";
import type { Cadence } from "../../core/cadence.ts";
import { CheckpointError, HookError } from "../../core/errors.ts";
import type { Hook } from "../../core/hook.ts";
import type { SavedCheckpoint } from "../../core/saving.ts";
import { tinyTrainer } from "../../testing/index.ts";
import { watchBuffers } from "../../../tests/support/live-buffers.ts";
import { failing, flaky, namesIn, savesOf, scripted, silent, stepsIn } from "../../../tests/support/checkpoints.ts";
import { modelCheckpoint } from "./model-checkpoint.ts";
import { memoryStore } from "../../checkpoint/stores/memory-store.ts";

it("not strict: a metric that never comes is one warning, and one that comes late is none", async () => {
  const warned = async (monitor: string, strict = false): Promise<string[]> => {
    const warnings: string[] = [];
    const late: Hook = { name: "late", onEpochEnd: (ctx) => (ctx.epoch === 2 ? ctx.log({ late: 1 }) : undefined) };
    const hooks = [late, modelCheckpoint({ monitor, strict })];
    const warn = (message: string): void => void warnings.push(message);
    await using trainer = tinyTrainer({ epochs: 4, store: memoryStore(), warn, hooks });
    await trainer.fit();
    return warnings;
  };
  expect(await warned("train/lost")).toEqual([
    expect.stringMatching(
      /^modelCheckpoint: there is no metric `train\/lost`. Did you mean `train\/loss`\? .*none was chosen as the best/,
    ),
  ]);
  expect(await warned("late")).toEqual([]);
  expect(await warned("train/loss", true)).toEqual([]);
});

describe("when it saves", () => {
  it("every epoch by default, and the newest is kept", async () => {
    const store = memoryStore();
    await using trainer = tinyTrainer({ epochs: 3, store, save: "sync", hooks: [modelCheckpoint()] });
    await trainer.fit();
    const saved = await store.list();
    expect(saved).toMatchObject([{ name: "step-000012", step: 12, epoch: 2, by: ["modelCheckpoint"] }]);
    expect(await savesOf({}, { epochs: 3 })).toEqual(["4 interval", "8 interval", "12 interval"]);
  });

  it.each<[string, Cadence, string[]]>([
    ["steps", "3 steps", ["3", "6"]],
    ["a bare number of steps", 3, ["3", "6"]],
    ["epochs", "2 epochs", ["8"]],
    ["batches", "6 batches", ["6"]],
    ["samples", "20 samples", ["5"]],
    ["a share of the run", "50%", ["4", "8"]],
    ["points", { at: [2, 5] }, ["2", "5"]],
    ["points in epochs", { at: ["1 epoch"] }, ["4"]],
    ["a part of the run", { every: 2, from: 3, until: 7 }, ["4", "6"]],
    ["epochs of a part of the run", { every: "1 epoch", from: 2 }, ["8"]],
    ["the end alone", { atEnd: true }, []],
  ])("every: %s", async (_, every, steps) => {
    const saved = await savesOf({ every }, { epochs: 2 });
    const regular = saved.filter((each) => each.endsWith("interval"));
    expect(regular.map((each) => each.split(" ")[0])).toEqual(steps);
  });

  it("every: time", async () => {
    const slow: Hook = { name: "slow", onStepBegin: () => new Promise((resolve) => void setTimeout(resolve, 12)) };
    const steps = async (every: string): Promise<number[]> => {
      const store = memoryStore();
      const hooks = [slow, modelCheckpoint({ every, atEnd: false, saveTopK: -1 })];
      await using trainer = tinyTrainer({ steps: 3, store, save: "sync", hooks });
      await trainer.fit();
      return stepsIn(store);
    };
    expect(await steps("5 ms")).toEqual([1, 2, 3]);
    expect(await steps("1 h")).toEqual([]);
  });

  it("an epoch that the end cuts short is none; one that a hook skips is", async () => {
    expect(await savesOf({ atEnd: false }, { steps: 6, epochs: 5 })).toEqual(["4 interval"]);
    const stops: Hook = { name: "stops", onStepEnd: (ctx) => (ctx.step === 6 ? ctx.stop("enough") : undefined) };
    const store = memoryStore();
    await using stopped = tinyTrainer({
      epochs: 5,
      store,
      save: "sync",
      hooks: [stops, modelCheckpoint({ atEnd: false })],
    });
    await stopped.fit();
    expect(await stepsIn(store)).toEqual([4]);
    const skips: Hook = { name: "skips", onStepEnd: (ctx) => (ctx.step % 2 === 0 ? ctx.skip("epoch") : undefined) };
    const skipping = memoryStore();
    await using trainer = tinyTrainer({
      epochs: 2,
      store: skipping,
      save: "sync",
      hooks: [skips, modelCheckpoint({ atEnd: false, saveLast: 9 })],
    });
    await trainer.fit();
    expect(await stepsIn(skipping)).toEqual([2, 4]);
  });

  it("writes beside training: async ends with the same checkpoints", async () => {
    for (const save of ["sync", "async"] as const) {
      const store = memoryStore();
      const hooks = [modelCheckpoint({ every: 2, saveLast: 2, milestones: 3 })];
      await using trainer = tinyTrainer({ epochs: 2, store, save, hooks });
      await trainer.fit();
      expect(await stepsIn(store), save).toEqual([3, 6, 8]);
    }
  });

  it("only observes: the parameters come out the same, bit for bit", async () => {
    const train = async (hooks: Hook[]): Promise<unknown> => {
      await using trainer = tinyTrainer({ epochs: 2, store: memoryStore(), hooks });
      await trainer.fit();
      return await trainer.stateDict();
    };
    expect(await train([modelCheckpoint({ every: 1 })])).toEqual(await train([]));
  });

  it("needs a place", async () => {
    await using trainer = tinyTrainer({ hooks: [modelCheckpoint({ atEnd: false })] });
    await expect(trainer.fit()).rejects.toThrow(
      /modelCheckpoint: there is no place for checkpoints: give the trainer `runDir/,
    );
  });
});

describe("a run's end", () => {
  const rare = { every: 100 };

  it("atEnd: the last state is saved when a limit or a hook ends the run", async () => {
    const store = memoryStore();
    await using done = tinyTrainer({ steps: 3, store, hooks: [modelCheckpoint(rare)] });
    await done.fit();
    expect(await store.list()).toMatchObject([{ step: 3, reason: "final" }]);
    const other = memoryStore();
    const stops: Hook = { name: "stops", onStepEnd: (ctx) => (ctx.step === 2 ? ctx.stop("enough") : undefined) };
    await using stopped = tinyTrainer({ store: other, hooks: [stops, modelCheckpoint(rare)] });
    await stopped.fit();
    expect(await other.list()).toMatchObject([{ step: 2, reason: "final" }]);
  });

  it("atEnd: the last whole state is saved after an error and an interruption", async () => {
    const store = memoryStore();
    await using trainer = tinyTrainer({ store, hooks: [failing(3), modelCheckpoint(rare)] });
    await expect(trainer.fit()).rejects.toThrow("as planned");
    expect(await store.list()).toMatchObject([{ step: 2, reason: "emergency" }]);
    const other = memoryStore();
    const controller = new AbortController();
    const aborts: Hook = { name: "aborts", onStepEnd: (ctx) => (ctx.step === 2 ? controller.abort() : undefined) };
    await using interrupted = tinyTrainer({ store: other, hooks: [aborts, modelCheckpoint(rare)] });
    expect((await interrupted.fit({ signal: controller.signal })).status).toBe("interrupted");
    expect(await other.list()).toMatchObject([{ step: 2, reason: "emergency" }]);
  });

  it("atEnd: what ended the run stays beside the best until there is something newer", async () => {
    const store = memoryStore();
    const options = { monitor: "val/x", saveLast: false };
    await using trainer = scripted(store, [1, 2, 3, 0, 9], [modelCheckpoint(options)]);
    await trainer.fit({ epochs: 3 });
    expect(await store.list()).toMatchObject([{ step: 1 }, { step: 3, reason: "final" }]);
    await trainer.fit({ epochs: 5 });
    expect(await store.list()).toMatchObject([{ step: 4 }, { step: 5, reason: "final" }]);
  });

  it("atEnd: false saves none of these", async () => {
    const store = memoryStore();
    await using trainer = tinyTrainer({ store, hooks: [failing(3), modelCheckpoint({ ...rare, atEnd: false })] });
    await expect(trainer.fit()).rejects.toThrow("as planned");
    expect(await store.list()).toEqual([]);
  });
});

describe("failures", () => {
  it("are made good at the next boundary, and what was there before stays", async () => {
    for (const save of ["sync", "async"] as const) {
      const { store, attempts } = flaky((attempt) => attempt === 2 || attempt === 3);
      const hook = modelCheckpoint({ every: 4, atEnd: false });
      await using trainer = tinyTrainer({ samples: 40, store, save, ...silent, hooks: [hook] });
      const result = await trainer.fit();
      expect(result.status).toBe("completed");
      expect(attempts[0]).toBe("step-000004");
      expect(attempts[1]).toBe("step-000008");
      expect(attempts).toHaveLength(4);
      const saved = await store.list();
      expect(saved).toHaveLength(1);
      expect(saved[0]!.step, save).toBeGreaterThan(8);
    }
  });

  it("after maxFailures in a row end the run with what went wrong", async () => {
    const { store, attempts } = flaky((attempt) => attempt > 1);
    await using trainer = tinyTrainer({
      samples: 40,
      store,
      save: "sync",
      ...silent,
      hooks: [modelCheckpoint({ every: 2 })],
    });
    const error = await trainer.fit().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(HookError);
    const { cause } = error as HookError;
    expect(cause).toBeInstanceOf(CheckpointError);
    expect((cause as CheckpointError).message).toMatch(
      /^step-000006: it could not be saved, 3 times in a row: the disk is full\. Earlier/,
    );
    // One at step 2, three that failed, and the emergency.
    expect(attempts.slice(0, 4)).toEqual(["step-000002", "step-000004", "step-000005", "step-000006"]);
    expect(await stepsIn(store)).toEqual([2]);
  });

  it("a success resets the count", async () => {
    const { store } = flaky((attempt) => attempt % 2 === 1);
    const hook = modelCheckpoint({ every: 1, maxFailures: 2, atEnd: false });
    await using trainer = tinyTrainer({ samples: 32, store, save: "sync", ...silent, hooks: [hook] });
    expect((await trainer.fit()).status).toBe("completed");
  });

  it("of the last save are tried again too, and then end the run", async () => {
    const once = flaky((attempt) => attempt === 1);
    await using trainer = tinyTrainer({ store: once.store, ...silent, hooks: [modelCheckpoint({ every: 100 })] });
    expect((await trainer.fit()).status).toBe("completed");
    expect(await once.store.list()).toMatchObject([{ step: 4, reason: "final" }]);
    const always = flaky(() => true);
    await using other = tinyTrainer({ store: always.store, ...silent, hooks: [modelCheckpoint({ every: 100 })] });
    await expect(other.fit()).rejects.toThrow(/3 times in a row: the disk is full/);
  });

  it("of others are not its own", async () => {
    const { store, attempts } = flaky((attempt) => attempt <= 3);
    const other: Hook = { name: "other", onStepEnd: (ctx) => (ctx.step <= 3 ? ctx.requestSave() : undefined) };
    const hooks = [other, modelCheckpoint({ every: 4, maxFailures: 1, atEnd: false })];
    await using trainer = tinyTrainer({ store, save: "sync", ...silent, hooks });
    await trainer.fit();
    expect(attempts).toHaveLength(4);
  });

  it("verify: one that cannot be read back does not count, and the one before stays", async () => {
    const inner = memoryStore();
    const verified: string[] = [];
    const verify: CheckpointStore["verify"] = async (name) => {
      verified.push(name);
      if (verified.length > 1) throw new Error("its bytes are others");
    };
    const store = { ...inner, verify };
    await using trainer = tinyTrainer({ store, save: "sync", ...silent, hooks: [modelCheckpoint({ every: 1 })] });
    await expect(trainer.fit()).rejects.toThrow(/its bytes are others/);
    expect(await namesIn(inner)).toContain("step-000001");
    const plain: string[] = [];
    const quick = { ...memoryStore(), verify: async (name: string) => void plain.push(name) };
    await using other = tinyTrainer({ store: quick, hooks: [modelCheckpoint({ verify: false })] });
    await other.fit();
    expect(plain).toEqual([]);
  });
});

describe("format", () => {
  const filesOf = async (format: "safetensors" | "pt"): Promise<SavedCheckpoint["files"]> => {
    const store = memoryStore();
    await using trainer = tinyTrainer({ store, hooks: [modelCheckpoint({ format })] });
    await trainer.fit();
    return (await store.list())[0]!.files;
  };

  it("safetensors by default", async () => {
    expect(Object.keys(await filesOf("safetensors"))).toEqual(
      expect.arrayContaining(["model.safetensors", "optimizer.safetensors"]),
    );
  });

  it("pt: model and optimizer as PyTorch keeps them", async () => {
    expect(Object.keys(await filesOf("pt"))).toEqual(expect.arrayContaining(["checkpoint.pt", "state.json"]));
  });
});

// The places are in src/trainer/saving/.
describe("together with the trainer", () => {
  it("a save of another hook does not take over a checkpoint of the same name", async () => {
    const store = memoryStore();
    const other: Hook = { name: "other", onEpochEnd: (ctx) => ctx.requestSave() };
    const hooks = [modelCheckpoint({ every: 4, atEnd: false }), other];
    await using trainer = tinyTrainer({ store, save: "sync", hooks });
    await trainer.fit();
    expect((await store.list()).flatMap(({ by }) => by)).toContain("modelCheckpoint");
  });

  it("a removal that waited does not remove a newer checkpoint of the same name", async () => {
    const inner = memoryStore();
    const remove: CheckpointStore["remove"] = async (names) => {
      await new Promise((resolve) => void setTimeout(resolve, 50));
      await inner.remove(names);
    };
    const names = ["a", "b", "c", "b"];
    const hook: Hook = {
      name: "renames",
      onStepEnd: (ctx) => ctx.requestSave("request", { name: names[ctx.step - 1]! }),
      onAfterSave({ checkpoints, saved }) {
        checkpoints.release(
          names.filter((name) => name !== saved.name && checkpoints.list().some((each) => each.name === name)),
        );
      },
    };
    const trainer = tinyTrainer({ store: { ...inner, remove }, save: "sync", hooks: [hook] });
    await trainer.fit();
    await trainer.close();
    expect(await namesIn(inner)).toEqual(["b"]);
  });

  it("what could not be read back is removed", async () => {
    const inner = memoryStore();
    const store = { ...inner, verify: () => Promise.reject(new Error("its bytes are others")) };
    const hooks = [modelCheckpoint({ atEnd: false })];
    await using trainer = tinyTrainer({ store, save: "sync", ...silent, hooks });
    await trainer.fit().catch(() => undefined);
    expect(await namesIn(inner)).toEqual([]);
  });

  it("a name function that throws leaves no buffers behind", async () => {
    const live = await watchBuffers();
    const before = live.count;
    const name = (): string => {
      throw new Error("no name");
    };
    const hook: Hook = { name: "nameless", onStepEnd: (ctx) => ctx.requestSave("request", { name }) };
    const trainer = tinyTrainer({ store: memoryStore(), hooks: [hook] });
    await trainer.fit().catch(() => undefined);
    await trainer.close();
    expect(live.count).toBe(before);
  });

  it("a long name that an earlier run has taken is shortened", async () => {
    const store = memoryStore();
    const hook: Hook = { name: "long", onStepEnd: (ctx) => ctx.requestSave("request", { name: "n".repeat(100) }) };
    for (let i = 0; i < 2; i++) {
      await using trainer = tinyTrainer({ steps: 1, store, save: "sync", ...silent, hooks: [hook] });
      await trainer.fit();
    }
    expect(await store.list()).toHaveLength(2);
  });

  it("a finished run that is resumed saves nothing more", async () => {
    const { store, attempts } = flaky(() => false);
    for (const resume of [undefined, "auto"]) {
      await using trainer = tinyTrainer({ store, save: "sync", hooks: [modelCheckpoint()] });
      await trainer.fit(resume === undefined ? {} : { resume });
    }
    expect(attempts).toEqual(["step-000004"]);
  });
});
