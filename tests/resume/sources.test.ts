// Where a run can be resumed from, what the report says, and what is refused.
import { cpSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CheckpointError, ema, type Hook, type ResumeReport } from "hookline";
import { encodeSafetensors, fromHostArrays, memoryStore, openDirectoryStore, readWeights } from "hookline/checkpoint";
import { linear, sequential } from "hookline/nn";
import { adamw, sgd } from "hookline/optim";
import { tinyTrainer, type TinyOptions } from "hookline/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "hookline-resume-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const everyStep = (format: "safetensors" | "pt" = "safetensors"): Hook => ({
  name: "everyStep",
  onStepEnd: (ctx) => ctx.requestSave("interval", { format }),
});

/** Four steps with a checkpoint after each; resolves to the weights at the end. */
async function train(options: TinyOptions = {}, format?: "pt") {
  await using trainer = tinyTrainer({
    runDir: folder,
    save: "sync",
    optimizer: adamw({ lr: 0.1 }),
    hooks: [everyStep(format)],
    ...options,
  });
  await trainer.fit();
  return await trainer.stateDict();
}

async function resume(from: string, options: TinyOptions = {}) {
  const warnings: string[] = [];
  await using trainer = tinyTrainer({
    optimizer: adamw({ lr: 0.1 }),
    warn: (message) => void warnings.push(message),
    ...options,
  });
  const { resumed, steps } = await trainer.fit({ resume: from });
  return { resumed: resumed as ResumeReport, steps, warnings, weights: await trainer.stateDict() };
}

describe("of several runs in one directory", () => {
  /** A new run while the clock says so. */
  async function trainAt(time: number, seed: number) {
    const clock = vi.spyOn(Date, "now").mockReturnValue(time);
    try {
      return await train({ seed });
    } finally {
      clock.mockRestore();
    }
  }

  test.each([
    ["goes back a day", -86_400_000],
    ["stands still", 0],
    ["goes on", 1000],
  ])("the last one is resumed when the clock %s", async (_, later) => {
    const first = await trainAt(Date.UTC(2026, 0, 2), 1);
    const second = await trainAt(Date.UTC(2026, 0, 2) + later, 2);
    expect(second).not.toEqual(first);
    const { weights } = await resume("auto", { runDir: folder, seed: 2 });
    expect(weights).toEqual(second);
    const third = await trainAt(Date.UTC(2020, 0, 1), 3);
    expect((await resume(folder, { seed: 3 })).weights).toEqual(third);
    expect(await readWeights(folder)).toEqual(third);
  });

  test("runs of version 0.1, which are known by their times alone, come before", async () => {
    const store = await openDirectoryStore(join(folder, "checkpoints"));
    const info = { step: 9, epoch: 0, reason: "interval", metrics: {}, time: Date.UTC(2100, 0, 1), runId: "old" };
    await store.save("old", {}, info);
    await store.close();
    const weights = await train();
    expect((await resume("auto", { runDir: folder })).weights).toEqual(weights);
  });
});

describe("a run goes on", () => {
  test.each([
    ["the newest of its own directory", "auto", true],
    ["one of its own, by name", "step-000002", true],
    ["the directory of a run", "", false],
    ["a directory of checkpoints", "checkpoints", false],
    ["one checkpoint", "checkpoints/step-000003", false],
    ["one checkpoint, with a slash", "checkpoints/step-000003/", false],
    ["one checkpoint of its own, by path", "checkpoints/step-000001", true],
  ])("from %s", async (_, from, own) => {
    const weights = await train();
    const path = from === "auto" || from.startsWith("step") ? from : join(folder, from);
    const again = await resume(path, own ? { runDir: folder } : {});
    expect(again.weights).toEqual(weights);
    expect(again.resumed).toMatchObject({
      why: "resume",
      missing: [],
      orphaned: [],
      changed: [],
    });
    expect(again.steps).toBe(4);
  });

  test("from PyTorch's format just as well", async () => {
    const weights = await train({}, "pt");
    const again = await resume(join(folder, "checkpoints/step-000002"));
    expect(again.weights).toEqual(weights);
    expect(readdirSync(join(folder, "checkpoints/step-000002"))).toContain("checkpoint.pt");
  });

  test("from the beginning, when `auto` finds nothing", async () => {
    const { resumed, steps } = await resume("auto", { runDir: join(folder, "new") });
    expect([resumed, steps]).toEqual([undefined, 4]);
  });

  test("from weights alone, and says what is missing", async () => {
    const weights = await train();
    const file = join(folder, "weights.safetensors");
    writeFileSync(file, encodeSafetensors(fromHostArrays(weights)));
    const { resumed, steps } = await resume(file, { steps: 2 });
    expect(steps).toBe(2);
    expect(resumed).toMatchObject({ from: file, restored: ["model"], step: 0 });
    expect(resumed.missing).toContain("counters");
  });

  test("from the one before, when the newest is damaged, and says which file was bad", async () => {
    await train();
    truncateSync(join(folder, "checkpoints/step-000004/optimizer.safetensors"), 10);
    const { resumed, warnings } = await resume("auto", { runDir: folder });
    expect(resumed.step).toBe(3);
    expect(resumed.skipped).toMatchObject([
      { name: "step-000004", file: expect.stringContaining("optimizer.safetensors") as string },
    ]);
    expect(warnings.join()).toMatch(/a newer checkpoint is damaged: .*optimizer\.safetensors/);
  });
});

describe("the report", () => {
  test("lists hooks without state, state without a hook, and options that have changed", async () => {
    await train({ hooks: [everyStep(), { name: "left", state: () => ({ json: 1 }), load() {} }] });
    const hooks: Hook[] = [{ name: "new", state: () => ({ json: 1 }), load() {} }, ema()];
    const { resumed } = await resume(folder, {
      hooks,
      seed: 5,
      accumulate: 2,
      optimizer: adamw({ lr: 0.5 }),
      epochs: 2,
    });
    expect(resumed.missing).toEqual(["hook new", "hook ema"]);
    expect(resumed.orphaned).toEqual(["hook left"]);
    expect(resumed.changed).toEqual([
      "optimizer.default.lr: 0.5 instead of 0.1",
      "accumulate: 2 instead of 1",
      "seed: 5 instead of 0",
    ]);
  });

  test("another optimizer begins anew, and counts its updates from there", async () => {
    await train();
    let updates = -1;
    const counts: Hook = { name: "counts", onTrainBegin: (ctx) => void (updates = ctx.optimizers[0]!.updates) };
    const { resumed } = await resume(folder, { optimizer: sgd({ lr: 0.1, momentum: 0.9 }), hooks: [counts] });
    expect(updates).toBe(0);
    expect(resumed.missing).toEqual(["optimizer momentum_buffer/weight", "optimizer momentum_buffer/bias"]);
    expect(resumed.orphaned).toContain("optimizer exp_avg/weight");
  });
});

describe("runs in one directory", () => {
  test("a second one leaves the first one's checkpoints alone, and `auto` goes on with the one that wrote last", async () => {
    await train({ seed: 1, steps: 6, epochs: 2 });
    await train({ seed: 2, steps: 2, epochs: 1 });
    const store = await openDirectoryStore(join(folder, "checkpoints"), { readOnly: true });
    const saved = await store.list();
    await store.close();
    expect(saved).toHaveLength(8);
    expect(new Set(saved.map(({ runId }) => runId)).size).toBe(2);
    const { resumed } = await resume("auto", { runDir: folder, seed: 2 });
    expect(resumed).toMatchObject({ step: 2, changed: [] });
  });

  test("one that goes on from an older checkpoint is a run of its own", async () => {
    await train();
    await train({ hooks: [everyStep()], steps: 3 });
    await using trainer = tinyTrainer({
      runDir: folder,
      save: "sync",
      optimizer: adamw({ lr: 0.1 }),
      hooks: [everyStep()],
      steps: 3,
    });
    await trainer.fit({ resume: "step-000001" });
    const store = await openDirectoryStore(join(folder, "checkpoints"), { readOnly: true });
    const mine = (await store.list()).filter(({ parent }) => parent === "step-000001");
    await store.close();
    expect(mine.map(({ step }) => step)).toEqual([2, 3]);
  });
});

describe("what is refused, with the file, the reason and the way out", () => {
  const refused = async (from: string, options: TinyOptions = {}): Promise<CheckpointError> => {
    const error: unknown = await resume(from, options).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(CheckpointError);
    return error as CheckpointError;
  };

  test("a path that is not there", async () => {
    await train();
    const error = await refused(join(folder, "chekpoints"));
    expect(error.message).toContain("chekpoints");
    expect(error.message).toContain("checkpoints");
  });

  test("a model of another shape, or another model", async () => {
    await train();
    const wide = await refused(folder, { model: linear(3, 2) });
    expect(wide.message).toMatch(/tensor "weight" has shape \[1, 3\], and the model wants \[2, 3\]/);
    expect(wide.message).toContain("build the model with the same sizes");
    const other = await refused(folder, { model: sequential(linear(3, 1)) });
    expect(other.message).toMatch(/lacks "0.weight"/);
  });

  test("a state of a newer version", async () => {
    await train({ steps: 1 });
    const from = await openDirectoryStore(join(folder, "checkpoints"), { readOnly: true });
    const { files, checkpoint } = await from.load();
    await from.close();
    const state = JSON.parse(new TextDecoder().decode(files["state.json"])) as object;
    const store = memoryStore();
    const newer = new TextEncoder().encode(JSON.stringify({ ...state, schema: 99 }));
    await store.save("newer", { ...files, "state.json": newer }, checkpoint);
    const error = await refused("newer", { store });
    expect(error.message).toContain("it was written by a newer hookline (schema 99). Update hookline.");
  });

  test("every file of the only checkpoint, truncated or missing", async () => {
    await train({ steps: 1 });
    const name = "checkpoints/step-000001";
    for (const file of readdirSync(join(folder, name))) {
      const copy = join(folder, `copy-${file}`);
      cpSync(join(folder, name), join(copy, "checkpoints/step-000001"), { recursive: true });
      truncateSync(join(copy, name, file), 5);
      expect((await refused(copy)).message, file).toContain(file);
      rmSync(join(copy, name, file));
      expect((await refused(join(copy, name))).message, file).toContain(file);
    }
  });

  test("restart and resume at once", async () => {
    await using trainer = tinyTrainer();
    await expect(trainer.fit({ restart: true, resume: "auto" })).rejects.toThrow("give one of them");
  });
});
