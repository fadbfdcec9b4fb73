// Input that is unusual and yet right: it trains, warns once or does nothing, and never fails.
import { numpy as np } from "@jax-js/jax";
import { Trainer, type Hook, type Tensor, type Tensors } from "hookline";
import { DataLoader } from "hookline/data";
import * as nn from "hookline/nn";
import { adamw, sgd } from "hookline/optim";
import { recordTrace, tinyTrainer } from "hookline/testing";
import { describe, expect, it } from "vitest";
import { stream } from "./cases/case.ts";

const rows = (samples: number, features = 3) => ({
  x: { data: new Float32Array(samples * features).fill(0.5), shape: [samples, features] },
  y: { data: new Float32Array(samples), shape: [samples, 1] },
});

describe("functions that a hook writes anew at every step", () => {
  const hooks: Record<string, Omit<Hook, "name">> = {
    "grads.map": { onAfterBackward: (ctx) => ctx.grads.map((grad) => grad.mul(0.5)) },
    setLoss: { onStepEnd: (ctx) => ctx.setLoss((outputs) => np.square(outputs as Tensor).mean()) },
    setUpdate: {
      onStepEnd: (ctx) => ctx.setUpdate((params) => params),
    },
    "params.compute": {
      async onStepEnd(ctx) {
        (await ctx.params.compute((params) => params)).free();
      },
    },
  };

  it.each(Object.entries(hooks))("ctx.%s warns once and names the hook", async (verb, methods) => {
    const warnings: string[] = [];
    const warn = (text: string): void => void warnings.push(text);
    const result = await tinyTrainer({ steps: 12, warn, hooks: [{ name: "inline", ...methods }] }).fit();
    expect(result).toMatchObject({ status: "completed", steps: 12 });
    expect(warnings).toEqual([
      `Hook \`inline\` has passed 9 different functions to ctx.${verb}. Each is compiled, even if its text is the same. Create the function once, outside the hook's method, and pass that one every time.`,
    ]);
  });

  it("one that is made once does not", async () => {
    const warnings: string[] = [];
    const half = (grad: Tensor): Tensor => grad.mul(0.5);
    const hook: Hook = { name: "once", onAfterBackward: (ctx) => ctx.grads.map(half) };
    await tinyTrainer({ steps: 12, warn: (text) => warnings.push(text), hooks: [hook] }).fit();
    expect(warnings).toEqual([]);
  });
});

describe("batches", () => {
  it("a shorter last one trains, and counts by its samples", async () => {
    const warnings: string[] = [];
    const result = await tinyTrainer({ samples: 10, epochs: 2, warn: (text) => warnings.push(text) }).fit();
    expect(result).toMatchObject({ status: "completed", steps: 6, epochs: 2 });
    expect(warnings).toEqual([]);
  });

  it("more than eight shapes warn once and name the loader", async () => {
    const warnings: string[] = [];
    const sizes = Array.from({ length: 11 }, (_, i) => rows(i + 1));
    await tinyTrainer({ train: { odd: stream(sizes) }, epochs: 2, warn: (text) => warnings.push(text) }).fit();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("Loader `odd`");
    expect(warnings[0]).toContain("9 different shapes");
    expect(warnings[0]).toMatch(/pad or bucket/);
  });

  it("of one sample, and of plain typed arrays, train", async () => {
    const one = await tinyTrainer({ samples: 3, batchSize: 1 }).fit();
    expect(one.steps).toBe(3);
    const scalars = new DataLoader({ x: Float32Array.of(1, 2, 3), y: Float32Array.of(2, 4, 6) }, { batchSize: 3 });
    const model = {
      params: { w: { data: Float32Array.of(0), shape: [] } },
      loss: ({ w }: Tensors, { x, y }: Tensors) => np.square(x!.mul(w!).sub(y!)).mean(),
    };
    await new Trainer({ model, optimizer: sgd(), train: scalars, epochs: 1, engine: "wasm", signals: false }).fit();
  });

  it("of Float64Array, Uint8Array and other types are widened", async () => {
    const x = { data: Float64Array.of(1, 2, 3, 4, 5, 6), shape: [2, 3] };
    const y = { data: Uint8Array.of(0, 1), shape: [2] };
    const train = new DataLoader({ x, y }, { batchSize: 2 });
    const result = await tinyTrainer({ model: nn.linear(3, 2), loss: nn.crossEntropy(), train }).fit();
    expect(result.metrics["train/loss"]).toBeGreaterThan(0);
  });

  it("labels that a loss ignores are no class, and fine", async () => {
    const train = new DataLoader({ x: rows(2).x, y: Int32Array.of(0, -100) }, { batchSize: 2 });
    const losses: number[] = [];
    const watch: Hook = { name: "watch", onStepEnd: ({ loss }) => void losses.push(loss) };
    await tinyTrainer({ model: nn.linear(3, 2), loss: nn.crossEntropy(), train, hooks: [watch] }).fit();
    expect(losses).toEqual([expect.any(Number)]);
    expect(losses[0]).not.toBeNaN();
  });
});

describe("limits", () => {
  it.each([{ steps: 0 }, { epochs: 0 }])("%o ends at once, with every event of the run", async (limit) => {
    const trace = recordTrace();
    const result = await tinyTrainer({ hooks: [trace], ...limit }).fit();
    expect(result).toMatchObject({ status: "completed", steps: 0, epochs: 0 });
    expect(trace.names()).toEqual(["init", "trainBegin", "trainEnd", "close"]);
  });

  it("a limit that was reached before ends a second fit at once", async () => {
    const trainer = tinyTrainer({ steps: 3 });
    await trainer.fit();
    expect(await trainer.fit()).toMatchObject({ status: "completed", reason: "3 steps", steps: 3 });
  });
});

describe("parameters that no optimizer owns", () => {
  it("stay as they are, to the bit, while the others train", async () => {
    const trainer = tinyTrainer({ optimizer: adamw({ lr: 0.1, params: "weight" }) });
    const before = await trainer.stateDict();
    await trainer.fit();
    const after = await trainer.stateDict();
    expect(after.bias).toEqual(before.bias);
    expect(after.weight).not.toEqual(before.weight);
  });
});

describe("a state dict of another number type", () => {
  it("is converted to the model's own", async () => {
    await using trainer = tinyTrainer();
    const state = await trainer.stateDict();
    await trainer.loadStateDict({ ...state, weight: { data: Float64Array.of(1, 2, 3), shape: [1, 3] } });
    expect((await trainer.stateDict()).weight!.data).toEqual(Float32Array.of(1, 2, 3));
  });
});

describe("an error inside a model", () => {
  it("says in which layer it happened", async () => {
    const model = nn.sequential(nn.linear(3, 4), nn.sequential({ mlp: nn.linear(9, 1) }));
    await expect(tinyTrainer({ model }).fit()).rejects.toThrow(/in layer `1\.mlp`: linear\(9, 1\)/);
  });
});
