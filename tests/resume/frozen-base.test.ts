// Checkpoints of a model with a frozen base: small, without the base, and only good for the base that they were saved with.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type CheckpointError, type HostArray, modelCheckpoint, type Model } from "hookline";
import { describeCheckpoint, inspectCheckpoint, readWeights } from "hookline/checkpoint";
import { numpy as np } from "hookline/jax";
import { adamw } from "hookline/optim";
import { exportModel, loadPredictor } from "hookline/predict";
import { tinyTrainer, type TinyOptions } from "hookline/testing";
import { describe, expect, test } from "vitest";
import { baseOfTensors } from "../support/frozen-base.ts";
import { heapInUse } from "../support/heap.ts";
import { tempDir } from "../support/temp-dir.ts";

/** y = x·A·b: A is frozen, b is trained. */
function onFrozen(a: readonly number[] = [1, 2, 3, 4, 5, 6], path = "models/base") {
  const base = baseOfTensors({ a: { data: Float32Array.from(a), shape: [3, 2] } }, path);
  return {
    base,
    init: () => ({ b: { data: Float32Array.of(0.1, 0.2), shape: [2, 1] } }),
    apply: ({ a: frozen, b }, x) => np.matmul(np.matmul(x, frozen!), b!),
  } satisfies Model;
}

/** The same with nothing frozen outside of it. */
const bare: Model = { init: onFrozen().init, apply: ({ b }, x) => np.matmul(x.slice([], [0, 2]), b!) };

const options = (runDir: string, more: TinyOptions = {}): TinyOptions => ({
  runDir,
  model: onFrozen(),
  optimizer: adamw({ lr: 0.01 }),
  hooks: [modelCheckpoint({ every: "1 step", saveLast: 4 })],
  warn: () => undefined,
  ...more,
});

async function train(runDir: string, more?: TinyOptions, resume?: string) {
  await using trainer = tinyTrainer(options(runDir, more));
  const { resumed } = await trainer.fit(resume === undefined ? {} : { resume });
  return { from: resumed?.step, weights: await trainer.stateDict() };
}

const manifestIn = (runDir: string, name: string) =>
  JSON.parse(readFileSync(join(runDir, "checkpoints", name, "manifest.json"), "utf8")) as { base?: unknown };

test("a resumed run continues exactly, on a base that is read again; the manifest has its path and digest", async () => {
  const runDir = tempDir();
  const whole = await train(tempDir());
  await train(runDir, { steps: 2 });
  expect(await train(runDir, {}, "auto")).toEqual({ ...whole, from: 2 });
  const { path, digest } = onFrozen().base;
  expect(manifestIn(runDir, "step-000002").base).toEqual({ path, digest });
  const weights = await readWeights(join(runDir, "checkpoints", "step-000004"));
  expect(Object.keys(weights)).toEqual(["b"]);
  expect(describeCheckpoint(await inspectCheckpoint(runDir))).toContain(`base: ${path}, SHA-256 ${digest}\n`);
});

test("a base that has moved is the same base", async () => {
  const runDir = tempDir();
  await train(runDir, { steps: 2 });
  expect((await train(runDir, { model: onFrozen(undefined, "elsewhere/base") }, "auto")).from).toBe(2);
});

describe("another base is refused, with both digests:", () => {
  const other = onFrozen([6, 5, 4, 3, 2, 1], "models/other");
  const described = ({ path, digest }: { readonly path: string; readonly digest: string }): string =>
    `the base ${path} (SHA-256 ${digest})`;

  test.each<[string, Model, Model, string]>([
    [
      "other numbers",
      onFrozen(),
      other,
      `with ${described(onFrozen().base)}, and this model has ${described(other.base)}`,
    ],
    ["none any more", onFrozen(), bare, `with ${described(onFrozen().base)}, and this model has no frozen base`],
    ["none before", bare, other, `with no frozen base, and this model has ${described(other.base)}`],
  ])("%s", async (_, before, after, message) => {
    const runDir = tempDir();
    await train(runDir, { model: before, steps: 2 });
    const error = (await train(runDir, { model: after }, "auto").catch(
      (failure: unknown) => failure,
    )) as CheckpointError;
    expect(error.message).toContain(message);
    // Its weights are nobody's but the caller's to judge.
    const file = join(runDir, "checkpoints", "step-000002", "model.safetensors");
    expect((await train(tempDir(), { model: after }, file)).from).toBe(0);
  });
});

test("a rollback keeps the base", async () => {
  const back = {
    name: "back",
    onStepEnd: (ctx: { step: number; rollback(): void }) => (ctx.step === 3 ? ctx.rollback() : undefined),
  };
  const model = onFrozen();
  const hooks = [modelCheckpoint({ every: "1 step" }), back];
  const { weights } = await train(tempDir(), { model, hooks, save: "sync" });
  expect([Object.keys(weights), model.base.reads]).toEqual([["b"], ["a"]]);
});

test("without its code it can neither be exported nor served, and the error names the way out", async () => {
  const runDir = tempDir();
  await train(runDir);
  const reason =
    "the model has a frozen base (models/base), which is in no checkpoint; saveModel of hookline/lm writes";
  await expect(exportModel(runDir, tempDir(), { format: "onnx" })).rejects.toThrow(reason);
  await expect(loadPredictor(runDir)).rejects.toThrow(reason);
});

test("a base of 64 MiB: checkpoints have the size of what is trained, and the host keeps no copy", async () => {
  const [rows, columns] = [2048, 1024];
  const names = Array.from({ length: 8 }, (_, i) => `frozen.${i}`);
  const reads: string[] = [];
  /** What was read and has not been collected yet. */
  const alive = new Set<string>();
  const collected = new FinalizationRegistry<string>((name) => alive.delete(name));
  let most = 0;
  const read = (name: string) => async (): Promise<HostArray> => {
    reads.push(name);
    const data = new Float32Array(rows * columns).fill(0.001);
    alive.add(name);
    collected.register(data, name);
    // Finalisers run between events.
    heapInUse();
    await new Promise((resolve) => setImmediate(resolve));
    most = Math.max(most, alive.size);
    return { data, shape: [rows, columns] };
  };
  const tensors = new Map(
    names.map((name) => [name, { shape: [rows, columns], dtype: "float32" as const, read: read(name) }]),
  );
  const model: Model = {
    base: { path: "models/large", digest: "0".repeat(64), tensors },
    init: () => ({ b: { data: new Float32Array(3 * 1000).fill(0.1), shape: [3, 1000] } }),
    apply: (params, x) => {
      const scales = names.map((name) => params[name]!.slice(0, 0));
      return scales.reduce((sum, scale) => sum.add(scale), np.matmul(x, params.b!).sum(1, { keepdims: true }));
    },
  };
  const runDir = tempDir();
  await using trainer = tinyTrainer(options(runDir, { model, samples: 4 }));
  await trainer.fit();
  expect(reads).toEqual(names);
  // The tensor that is read, and the one before that the engine has copied.
  expect(most).toBeLessThanOrEqual(2);
  heapInUse();
  await new Promise((resolve) => setImmediate(resolve));
  expect([...alive]).toEqual([]);
  const checkpoint = join(runDir, "checkpoints", "step-000001");
  const bytes = readdirSync(checkpoint).reduce((sum, file) => sum + statSync(join(checkpoint, file)).size, 0);
  expect(bytes).toBeLessThanOrEqual(3 * 3000 * 4 + 64_000);
});
