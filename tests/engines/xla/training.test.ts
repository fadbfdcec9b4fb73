// Whole trainings on the xla engine, with XLA's CPU client: the losses of wasm, and the same bits when resumed.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { modelCheckpoint, Trainer, type TrainerOptions } from "hookline";
import { DataLoader } from "hookline/data";
import {
  crossEntropy,
  dropout,
  embedding,
  gelu,
  layerNorm,
  linear,
  multiHeadAttention,
  relu,
  residual,
  sequential,
} from "hookline/nn";
import { adamw } from "hookline/optim";
import { JaxEngine } from "../../../src/engines/jax/jax-engine.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { compileTestPlugin, jaxlibBackend } from "./test-plugin.ts";

const plugin = compileTestPlugin();
const backend = plugin && jaxlibBackend();
const cache = mkdtempSync(join(tmpdir(), "hookline-cache-"));
beforeAll(() => {
  process.env.HOOKLINE_CACHE = cache;
  process.env.HOOKLINE_PJRT_PLUGIN = plugin?.path;
  process.env.HOOKLINE_TEST_PJRT_BACKEND = backend;
});
afterAll(() => {
  rmSync(cache, { recursive: true, force: true });
  delete process.env.HOOKLINE_CACHE;
  delete process.env.HOOKLINE_PJRT_PLUGIN;
  delete process.env.HOOKLINE_TEST_PJRT_BACKEND;
  plugin?.remove();
});

const ids = (below: number, ...shape: number[]) => ({
  data: Int32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => (i * i * 7 + i) % below),
  shape,
});
const waves = (...shape: number[]) => ({
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(i * 0.7)),
  shape,
});

const MODELS: Record<string, () => Pick<TrainerOptions, "model" | "train">> = {
  mlp: () => ({
    model: sequential(linear(12, 16), relu(), dropout(0.2), linear(16, 5)),
    train: new DataLoader({ x: waves(24, 12), y: ids(5, 24) }, { batchSize: 4, shuffle: true }),
  }),
  "mlp with an activation that is computed again": () => ({
    model: sequential(linear(6, 4096), gelu(), linear(4096, 5)),
    train: new DataLoader({ x: waves(32, 6), y: ids(5, 32) }, { batchSize: 16, shuffle: true }),
  }),
  transformer: () => ({
    model: sequential(
      embedding(11, 16),
      residual(sequential(layerNorm(16), multiHeadAttention(16, 2, { causal: true }))),
      linear(16, 11),
    ),
    train: new DataLoader({ x: ids(11, 24, 6), y: ids(11, 24, 6) }, { batchSize: 4, shuffle: true }),
  }),
};

function trainer(name: string, options: Partial<TrainerOptions>): { trainer: Trainer; losses: number[] } {
  const made = new Trainer({
    ...MODELS[name]!(),
    loss: crossEntropy(),
    optimizer: adamw({ lr: 0.01 }),
    clipNorm: 1,
    steps: 8,
    signals: false,
    ...options,
  });
  const losses: number[] = [];
  made.on("stepEnd", (ctx) => void losses.push(ctx.loss));
  return { trainer: made, losses };
}

async function fit(name: string, options: Partial<TrainerOptions>): Promise<number[]> {
  const { trainer: made, losses } = trainer(name, options);
  await made.fit();
  await made.close();
  return losses;
}

describe("precision", () => {
  const make = (options: object): Trainer => trainer("mlp", options).trainer;

  it.each(["auto", "native", "wasm", "webgpu"])("bf16 is not for the engine %s", (engine) => {
    expect(() => make({ engine, precision: "bf16" })).toThrow(
      `Trainer: only the engine "xla" has \`precision: "bf16"\`, and \`engine\` is "${engine}".`,
    );
    expect(() => make({ engine, precision: "float32" })).not.toThrow();
  });

  it("and devices that are several, too", () => {
    expect(() => make({ engine: "native", devices: 2 })).toThrow(
      'Trainer: only the engine "xla" has `devices: 2`, and `engine` is "native".',
    );
    expect(() => make({ engine: JaxEngine.onWasm(), devices: 2 })).toThrow("but the engine was created with 1");
    expect(() => make({ engine: "xla", devices: 0 })).toThrow("devices");
    expect(() => make({ engine: "wasm", devices: 1 })).not.toThrow();
  });

  it("must be the engine's own, if it was created before", () => {
    const engine = JaxEngine.onWasm();
    expect(() => make({ engine, precision: "bf16" })).toThrow('but the engine was created with "float32"');
    expect(() => make({ precision: "half" })).toThrow("precision");
  });
});

describe.skipIf(!backend)("with XLA's CPU client (needs a C compiler, koffi, and jaxlib in python3)", () => {
  it.each(Object.keys(MODELS))("%s: the losses of wasm, and the same bits again", async (name) => {
    const [xla, again, wasm] = [
      await fit(name, { engine: "xla" }),
      await fit(name, { engine: "xla" }),
      await fit(name, { engine: "wasm" }),
    ];
    expect(again).toEqual(xla);
    expect(xla).toHaveLength(8);
    for (const [i, loss] of wasm.entries()) expect(Math.abs(xla[i]! - loss)).toBeLessThan(2e-5 * loss);
  });

  it("trains in bf16", async () => {
    const [mixed, wasm] = [
      await fit("transformer", { engine: "xla", precision: "bf16" }),
      await fit("transformer", { engine: "wasm" }),
    ];
    expect(mixed).not.toEqual(wasm);
    for (const [i, loss] of wasm.entries()) expect(Math.abs(mixed[i]! - loss)).toBeLessThan(2e-2 * loss);
  });

  it("resumes with the same bits", async () => {
    const whole = await fit("transformer", { engine: "xla" });
    const runDir = tempDir();
    const first = await fit("transformer", { engine: "xla", runDir, steps: 5, hooks: [modelCheckpoint({ every: 5 })] });
    const { trainer: second, losses } = trainer("transformer", { engine: "xla", runDir });
    await second.fit({ resume: "auto" });
    await second.close();
    expect([...first, ...losses]).toEqual(whole);
  });
});
