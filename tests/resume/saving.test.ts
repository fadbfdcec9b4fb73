// Saving beside training: what is written is the state of the boundary at which it was asked for, one at a time.
import type { Hook, SaveTensors } from "hookline";
import { memoryStore, toHostArrays, decodeSafetensors, type CheckpointStore } from "hookline/checkpoint";
import { recordTrace, tinyTrainer, type TinyOptions } from "hookline/testing";
import { describe, expect, test } from "vitest";
import { asyncEngine } from "../support/engines.ts";
import { HAS_NATIVE } from "../support/has-native.ts";

const saveAt = (...steps: number[]): Hook => ({
  name: "saveAt",
  onStepEnd: (ctx) => (steps.includes(ctx.step) ? ctx.requestSave("interval") : undefined),
});

/** A store whose saves wait until they are let go: the one that waits, or the next one. */
function slowStore(): CheckpointStore & { release(): void; readonly begun: string[]; readonly most: () => number } {
  const store = memoryStore();
  const begun: string[] = [];
  let waiting: (() => void) | undefined;
  let free = 0;
  let now = 0;
  let most = 0;
  return {
    ...store,
    begun,
    most: () => most,
    release: () => {
      if (waiting) waiting();
      else free++;
      waiting = undefined;
    },
    async save(name, files, info) {
      begun.push(name);
      most = Math.max(most, ++now);
      if (free > 0) free--;
      else await new Promise<void>((resolve) => void (waiting = resolve));
      now--;
      return store.save(name, files, info);
    },
  };
}

const weightsOf = async (store: CheckpointStore, name: string) =>
  toHostArrays(decodeSafetensors(await store.read(name, "model.safetensors"), name).tensors, name);

describe("asynchronous saving", () => {
  test.each(["wasm", "an engine that must be awaited"])("a hook may give what it changes later, %s", async (kind) => {
    const store = slowStore();
    const steps: number[] = [];
    const sums = new Float32Array(1);
    const keeps: Hook = {
      name: "keeps",
      onStepEnd(ctx) {
        steps.push(ctx.step);
        sums[0]! += ctx.step;
        if (ctx.step === 6) store.release();
      },
      state: () => ({ json: { steps }, tensors: { sums: { data: sums, shape: [1] } } }),
      load: () => undefined,
    };
    const engine = kind === "wasm" ? "wasm" : await asyncEngine();
    await using trainer = tinyTrainer({ steps: 8, epochs: 4, store, engine, hooks: [keeps, saveAt(3)], yieldEvery: 0 });
    await trainer.fit();
    const state = new TextDecoder().decode(await store.read("step-000003", "state.json"));
    expect((JSON.parse(state) as { hooks: { keeps: { json: unknown } } }).hooks.keeps.json).toEqual({
      steps: [1, 2, 3],
    });
    const { tensors } = decodeSafetensors(await store.read("step-000003", "hooks.safetensors"), "it");
    expect(toHostArrays(tensors, "it")["keeps/sums"]!.data).toEqual(Float32Array.of(6));
  });

  test.each(["wasm", "an engine that must be awaited"])("training goes on meanwhile, %s", async (kind) => {
    const store = slowStore();
    const seen: string[] = [];
    const at: Record<number, unknown> = {};
    const watch: Hook = {
      name: "watch",
      async onStepEnd(ctx) {
        at[ctx.step] = await ctx.params.get("weight");
        // Written two steps later: a snapshot that shares memory with the parameters would be torn.
        if (ctx.step === 4) store.release();
      },
      onAfterSave: (ctx) => void seen.push(`${ctx.saved.name} at step ${ctx.step}, of step ${ctx.saved.step}`),
    };
    const engine = kind === "wasm" ? "wasm" : await asyncEngine();
    await using trainer = tinyTrainer({ steps: 8, epochs: 4, store, engine, hooks: [saveAt(2), watch], yieldEvery: 0 });
    await trainer.fit();
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatch(/^step-000002 at step [4-8], of step 2$/);
    expect((await weightsOf(store, "step-000002")).weight).toEqual(at[2]);
    expect(at[2]).not.toEqual(at[4]);
  });

  test("a store that reads tensors where they lie finds them steps later, whatever a hook does with what it kept", async ({
    skip,
  }) => {
    skip(!HAS_NATIVE, "needs onnxruntime-node");
    const store = memoryStore();
    const at: Record<number, unknown> = {};
    let goOn: (() => void) | undefined;
    let kept: SaveTensors | undefined;
    const reading: CheckpointStore = {
      ...store,
      save: () => Promise.reject(new Error("copied")),
      async saveLent(name, files, lent, info) {
        await new Promise<void>((resolve) => void (goOn = resolve));
        const parts = Object.entries(lent).map(([file, partsNow]) => [file, partsNow()] as const);
        return store.save(name, { ...files, ...Object.fromEntries(parts) }, info);
      },
    };
    const watch: Hook = {
      name: "watch",
      onBeforeSave: ({ saving }) => void (kept = saving.tensors["model"]),
      async onStepEnd(ctx) {
        at[ctx.step] = await ctx.params.get("weight");
        kept?.delete("weight");
        if (ctx.step === 4) goOn?.();
      },
    };
    await using trainer = tinyTrainer({
      steps: 8,
      epochs: 4,
      store: reading,
      engine: "native",
      hooks: [saveAt(2), watch],
      yieldEvery: 0,
    });
    await trainer.fit();
    expect(Object.keys((await store.list())[0]!.files)).toEqual(
      expect.arrayContaining(["model.safetensors", "optimizer.safetensors", "state.json"]),
    );
    expect((await weightsOf(store, "step-000002")).weight).toEqual(at[2]);
    expect(at[2]).not.toEqual(at[4]);
  });

  test("at most one is in flight: the next waits, and none is left out", async () => {
    const store = slowStore();
    const timer = setInterval(() => store.release(), 2);
    await using trainer = tinyTrainer({ steps: 6, store, hooks: [saveAt(1, 2, 3, 4, 5, 6)] });
    await trainer.fit();
    clearInterval(timer);
    expect(store.most()).toBe(1);
    expect((await store.list()).map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test("afterSave comes before trainEnd at the latest", async () => {
    const store = slowStore();
    setTimeout(() => store.release(), 20);
    const trace = recordTrace({ events: ["afterSave", "trainEnd", "close"] });
    await using trainer = tinyTrainer({ store, hooks: [saveAt(4), trace] });
    await trainer.fit();
    expect(trace.names()).toEqual(["afterSave", "trainEnd", "close"]);
  });
});

describe("beforeSave", () => {
  const run = async (hook: Hook, options: TinyOptions = {}) => {
    const store = memoryStore();
    await using trainer = tinyTrainer({ steps: 2, store, save: "sync", hooks: [saveAt(2), hook], ...options });
    const result = await trainer.fit();
    return { store, result, weights: await trainer.stateDict() };
  };

  test("shows what is about to be written, and lets it be changed", async () => {
    const { store, weights } = await run({
      name: "editor",
      async onBeforeSave({ saving }) {
        expect(saving).toMatchObject({ name: "step-000002", reason: "interval", step: 2, epoch: 0 });
        expect(Object.keys(saving.tensors)).toEqual(["model", "optimizer"]);
        const { model } = saving.tensors;
        expect(model!.names).toEqual(["weight", "bias"]);
        const bias = await model!.get("bias");
        bias.data[0] = 1000;
        model!.set("bias", { data: Float32Array.of(42), shape: [1] });
        model!.set("extra", { data: Float32Array.of(1, 2), shape: [2] });
        saving.metrics.answer = 42;
        saving.files["notes.txt"] = new TextEncoder().encode("kept");
        await expect(model!.get("bais")).rejects.toThrow("Did you mean `bias`?");
      },
    });
    const [saved] = await store.list();
    expect(saved!.metrics.answer).toBe(42);
    expect(new TextDecoder().decode(await store.read("step-000002", "notes.txt"))).toBe("kept");
    const written = await weightsOf(store, "step-000002");
    expect([...written.bias!.data, ...written.extra!.data]).toEqual([42, 1, 2]);
    expect(weights.bias!.data[0], "the run itself does not see it").not.toBe(42);
    expect(weights.bias!.data[0]).not.toBe(1000);
  });

  test("may veto", async () => {
    const { store, result } = await run({ name: "vetoes", onBeforeSave: (ctx) => ctx.skip("save", "not now") });
    expect(await store.list()).toEqual([]);
    expect(result.status).toBe("completed");
    expect(result.interventions).toContainEqual(
      expect.objectContaining({ who: "vetoes", event: "beforeSave", what: 'skip("save")', why: "not now" }),
    );
  });
});

describe("a save that fails", () => {
  const failing = (): CheckpointStore => ({ ...memoryStore(), save: () => Promise.reject(new Error("no space left")) });

  test("is an event and a warning; the run goes on", async () => {
    const warnings: string[] = [];
    const seen: unknown[] = [];
    const watch: Hook = { name: "watch", onSaveError: ({ failedSave }) => void seen.push(failedSave) };
    await using trainer = tinyTrainer({
      store: failing(),
      hooks: [saveAt(2), watch],
      warn: (message) => void warnings.push(message),
    });
    const { status } = await trainer.fit();
    expect(status).toBe("completed");
    const error = expect.objectContaining({ message: "no space left" }) as Error;
    expect(seen).toEqual([{ name: "step-000002", reason: "interval", step: 2, by: ["saveAt"], error }]);
    expect(warnings).toEqual(["checkpoint step-000002 was not saved: no space left"]);
  });

  test("and a place that cannot be opened is an error before the first step", async () => {
    const steps: number[] = [];
    const hook: Hook = {
      name: "atEnd",
      onTrainBegin: (ctx) => ctx.requestSave("final", { at: "end" }),
      onStepEnd: (ctx) => void steps.push(ctx.step),
    };
    await using trainer = tinyTrainer({ runDir: "/dev/null/nowhere", hooks: [hook] });
    await expect(trainer.fit()).rejects.toThrow("/dev/null/nowhere");
    expect(steps).toEqual([]);
  });
});

test("without a place, requestSave says what to give", async () => {
  await using trainer = tinyTrainer({ hooks: [saveAt(1)] });
  await expect(trainer.fit()).rejects.toThrow(
    'checkpoints: the trainer has no place for them. Give it `runDir: "runs/digits"`, or a `store` such as memoryStore().',
  );
});

test("one save for all who ask at a boundary; the first name counts, and it belongs to both", async () => {
  const store = memoryStore();
  const ask = (name: string, checkpoint: string): Hook => ({
    name,
    onStepEnd: (ctx) => (ctx.step === 1 ? ctx.requestSave(`by ${name}`, { name: checkpoint }) : undefined),
  });
  await using trainer = tinyTrainer({ store, hooks: [ask("a", "first"), ask("b", "second")] });
  await trainer.fit();
  expect(await store.list()).toMatchObject([{ name: "first", reason: "by a", by: ["a", "b"] }]);
});

describe("release", () => {
  test("removes a checkpoint when no hook needs it any longer", async () => {
    const store = memoryStore();
    const keeper = (name: string, releases: (step: number) => boolean): Hook => ({
      name,
      onStepEnd: (ctx) => ctx.requestSave(),
      onAfterSave: (ctx) => {
        const old = ctx.checkpoints.list().filter(({ step }) => step < ctx.saved.step && releases(step));
        ctx.checkpoints.release(old.map((saved) => saved.name));
      },
    });
    const hooks = [keeper("all", () => true), keeper("even", (step) => step % 2 === 1)];
    await using trainer = tinyTrainer({ steps: 6, store, save: "sync", hooks });
    await trainer.fit();
    expect((await store.list()).map(({ step }) => step)).toEqual([2, 4, 6]);
  });
});
