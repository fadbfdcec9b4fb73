// The native engine as a user meets it: by name, chosen by itself, with options, and where it cannot compile a program.
import { readFileSync } from "node:fs";
import { lax, numpy as np } from "@jax-js/jax";
import { logger, Trainer, type Hook, type Tensor, type TrainerOptions } from "hookline";
import { DataLoader, Rng } from "hookline/data";
import { jsonl } from "hookline/loggers";
import { NativeEngine } from "hookline/native";
import { batchNorm, crossEntropy, dropout, layerNorm, linear, sequential, tanh } from "hookline/nn";
import { adamw, sgd } from "hookline/optim";
import { tinyData } from "hookline/testing";
import { heapInUse } from "../support/heap.ts";
import { tempDir } from "../support/temp-dir.ts";
import { afterEach, describe, expect, test, vi } from "vitest";

const rng = new Rng(3);
const data = {
  x: { data: Float32Array.from({ length: 64 * 12 }, () => rng.normal()), shape: [64, 12] },
  y: Int32Array.from({ length: 64 }, () => rng.int(4)),
};

const model = () => sequential(linear(12, 24), batchNorm(24), tanh(), dropout(0.2), layerNorm(24), linear(24, 4));

async function trained(engine: TrainerOptions["engine"], hooks: readonly Hook[] = [], steps = 20) {
  const losses: number[] = [];
  await using trainer = new Trainer({
    model: model(),
    loss: crossEntropy(),
    optimizer: adamw({ lr: 1e-2 }),
    train: new DataLoader(data, { batchSize: 16, shuffle: true }),
    clipNorm: 1,
    steps,
    engine: engine!,
    signals: false,
    hooks: [...hooks, { name: "losses", onStepEnd: (ctx) => void losses.push(ctx.loss) }],
  });
  const result = await trainer.fit();
  const state = await trainer.stateDict();
  const bits = Object.fromEntries(Object.entries(state).map(([name, { data: numbers }]) => [name, [...numbers]]));
  return { result, losses, bits };
}

/** Bytes that an engine holds when programs that nobody can run any more are gone. */
async function settled(engine: NativeEngine): Promise<number> {
  for (let i = 0; i < 3; i++) {
    heapInUse();
    await new Promise((resolve) => void setTimeout(resolve, 20));
  }
  return engine.bytesInUse;
}

describe("which engine", () => {
  afterEach(() => vi.unstubAllEnvs());

  test("auto is native where onnxruntime-node is installed, and the run says so", async () => {
    const devices = new Set<string>();
    const { result } = await trained("auto", [{ name: "device", onStepEnd: (ctx) => void devices.add(ctx.device) }], 2);
    expect(result.engine).toBe("native");
    expect([...devices]).toEqual(["native"]);
    expect(result.compileSeconds).toBeGreaterThan(0);
  });

  test("run.json says which one, and how long it compiled", async () => {
    const dir = tempDir();
    const { result } = await trained("native", [logger(jsonl({ dir }))], 2);
    const info = JSON.parse(readFileSync(`${dir}/run.json`, "utf8")) as Record<string, unknown>;
    expect(info).toMatchObject({ compileSeconds: result.compileSeconds, about: { engine: "native" } });
  });

  test("an own one has options, stays open after a trainer, and serves several", async () => {
    const engine = new NativeEngine({ threads: 1 });
    expect(engine.threads).toBe(1);
    const first = await trained(engine);
    const second = await trained(engine);
    expect(second.bits).toEqual(first.bits);
    const before = await settled(engine);
    for (let i = 0; i < 5; i++) await trained(engine, [], 2);
    expect(await settled(engine)).toBeLessThanOrEqual(before);
    await engine.close();
  });

  test("HOOKLINE_THREADS says how many threads, and must be a number", async () => {
    vi.stubEnv("HOOKLINE_THREADS", "1");
    const engine = new NativeEngine();
    expect(engine.threads).toBe(1);
    await engine.close();
    vi.stubEnv("HOOKLINE_THREADS", "two");
    expect(() => new NativeEngine()).toThrow(/HOOKLINE_THREADS: Expected a whole number from 1 to 256, got `"two"`/);
    expect(() => new NativeEngine({ thread: 2 } as object)).toThrow(/Did you mean `threads`\?/);
  });
});

test("the numbers are those of wasm but for rounding, and the same in every run", async () => {
  const [first, again, wasm] = [await trained("native"), await trained("native"), await trained("wasm")];
  expect(again.bits).toEqual(first.bits);
  for (const [i, loss] of first.losses.entries()) expect(loss / wasm.losses[i]!).toBeCloseTo(1, 4);
});

describe("a hook between the forward and the backward pass", () => {
  const observer: Hook = { name: "observer", onBeforeBackward: () => undefined };

  test("changes no bit", async () => {
    const plain = await trained("native");
    const cut = await trained("native", [observer]);
    expect(cut.losses).toEqual(plain.losses);
    expect(cut.bits).toEqual(plain.bits);
  });

  test("has its say on the gradient, though the forward pass is done", async () => {
    const scaled: Hook = { name: "scaled", onBeforeBackward: (ctx) => ctx.scaleLoss(ctx.step % 2 === 0 ? 3 : 0.5) };
    const native = await trained("native", [scaled]);
    const wasm = await trained("wasm", [scaled]);
    for (const [i, loss] of native.losses.entries()) expect(loss / wasm.losses[i]!).toBeCloseTo(1, 4);
  });

  test("who skips the batch there leaves nothing behind", async () => {
    const engine = new NativeEngine({ threads: 1 });
    const skipping: Hook = { name: "skipping", onBeforeBackward: (ctx) => ctx.skip("batch") };
    await trained(engine, [skipping], 1);
    const before = await settled(engine);
    for (let i = 0; i < 5; i++) await trained(engine, [skipping], 4);
    expect(await settled(engine)).toBeLessThanOrEqual(before);
    await engine.close();
  });
});

describe("a program that cannot be compiled", () => {
  /** A loss with a primitive that only jax-js knows. */
  const withCholesky = (params: Record<string, Tensor>, batch: Record<string, Tensor>): Tensor => {
    const w = params.w!;
    // Its gradient is beyond jax-js itself.
    const gram = lax.stopGradient(np.matmul(w.ref.transpose(), w.ref).add(np.eye(3)));
    const error = np.matmul(batch.x!, w).sub(batch.y!);
    return np.mean(np.square(error)).add(np.sum(np.log(np.diagonal(lax.linalg.cholesky(gram)))));
  };

  const run = async (engine: TrainerOptions["engine"]) => {
    const warnings: string[] = [];
    const losses: number[] = [];
    await using trainer = new Trainer({
      model: {
        params: { w: { data: Float32Array.of(0.1, 0.2, 0.3, 0, 1, 0, 0.5, 0, 1), shape: [3, 3] } },
        loss: withCholesky,
      },
      optimizer: sgd({ lr: 0.1 }),
      train: new DataLoader(tinyData(16), { batchSize: 4 }),
      epochs: 1,
      engine: engine!,
      signals: false,
      warn: (message) => void warnings.push(message),
      hooks: [
        { name: "losses", onStepEnd: (ctx) => void losses.push(ctx.loss) },
        { name: "split", onAfterForward: () => undefined },
      ],
    });
    await trainer.fit();
    return { warnings, losses };
  };

  test("runs on wasm, with one warning that names the primitive", async () => {
    const native = await run("native");
    const wasm = await run("wasm");
    expect(native.warnings).toEqual([
      'Engine "native": the primitive `cholesky` cannot be compiled. Programs that have it run on wasm, and more slowly.',
    ]);
    expect(native.losses).toEqual(wasm.losses);
  });
});
