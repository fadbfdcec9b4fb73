// Training on several devices: XLA divides the program between them, and the numbers are those of one device to rounding.
// The devices are those of XLA's CPU client.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { modelCheckpoint, nanGuard, Trainer, type Hook, type TrainerOptions } from "hookline";
import { DataLoader } from "hookline/data";
import {
  batchNorm,
  crossEntropy,
  dropout,
  embedding,
  layerNorm,
  linear,
  multiHeadAttention,
  relu,
  residual,
  sequential,
} from "hookline/nn";
import { adamw } from "hookline/optim";
import { XlaEngine } from "../../../src/engines/xla/xla-engine.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { compileTestPlugin, jaxlibBackend } from "./test-plugin.ts";

const plugin = compileTestPlugin();
const backend = plugin && jaxlibBackend();
const cache = mkdtempSync(join(tmpdir(), "hookline-cache-"));
const given = { HOOKLINE_PJRT_PLUGIN: plugin?.path, HOOKLINE_TEST_PJRT_DEVICES: "8", HOOKLINE_CACHE: cache };
beforeAll(() => void Object.assign(process.env, given));
afterAll(() => {
  for (const name of Object.keys(given)) delete process.env[name];
  delete process.env.HOOKLINE_TEST_PJRT_BACKEND;
  rmSync(cache, { recursive: true, force: true });
  plugin?.remove();
});

const floats = (of: (i: number) => number, ...shape: number[]) => ({
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => of(i)),
  shape,
});
const ids = (below: number, from: number, ...shape: number[]) => ({
  data: Int32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => (i * 7 + from) % below),
  shape,
});

/** 28 rows in batches of 8: the last has 4, which 8 devices cannot divide. */
const MODELS: Record<string, () => Pick<TrainerOptions, "model" | "train">> = {
  "mlp with batch norm and dropout": () => ({
    model: sequential(linear(6, 16), batchNorm(16), relu(), dropout(0.2), linear(16, 5)),
    train: new DataLoader({ x: floats(Math.sin, 28, 6), y: ids(5, 0, 28) }, { batchSize: 8, shuffle: true }),
  }),
  /** Of its two large weights, only the first has rows that 2, 4 and 8 divide. */
  wide: () => ({
    model: sequential(linear(6, 4096), relu(), linear(4096, 5)),
    train: new DataLoader({ x: floats(Math.sin, 28, 6), y: ids(5, 0, 28) }, { batchSize: 8, shuffle: true }),
  }),
  transformer: () => ({
    model: sequential(
      embedding(11, 16),
      residual(sequential(layerNorm(16), multiHeadAttention(16, 2, { causal: true }))),
      linear(16, 11),
    ),
    train: new DataLoader({ x: ids(11, 0, 28, 6), y: ids(11, 3, 28, 6) }, { batchSize: 8, shuffle: true }),
  }),
};

async function fit(
  name: string,
  devices: number,
  options: Partial<TrainerOptions> = {},
  resume = false,
): Promise<number[]> {
  const engine = new XlaEngine({ devices });
  const losses: number[] = [];
  const trainer = new Trainer({
    ...MODELS[name]!(),
    engine,
    loss: crossEntropy(),
    optimizer: adamw({ lr: 0.01 }),
    clipNorm: 1,
    steps: 4,
    signals: false,
    ...options,
  });
  trainer.on("stepEnd", (ctx) => void losses.push(ctx.loss));
  await trainer.fit(resume ? { resume: "auto" } : {});
  await trainer.close();
  await engine.close();
  return losses;
}

/** The largest relative difference; infinite if one list is longer. */
const difference = (found: readonly number[], expected: readonly number[]): number =>
  found.length === expected.length
    ? Math.max(...expected.map((loss, i) => Math.abs(found[i]! - loss) / loss))
    : Number.POSITIVE_INFINITY;
const ROUNDING = 2e-5;

describe.skipIf(!plugin)("on the test plugin (needs a C compiler and koffi)", () => {
  it("says how many there are", () => {
    expect(() => new XlaEngine({ devices: 9 })).toThrow('Engine "xla": `devices` is 9, but there are 8 (Mock device).');
    expect(() => new XlaEngine({ devices: 0 })).toThrow("devices");
  });

  it("divides rows, puts the rest on each, and reads both", async () => {
    const engine = new XlaEngine({ devices: 4, cache: false });
    const rows = Float32Array.from({ length: 24 }, (_, i) => i);
    for (const shape of [[8, 3], [24], [6, 4], [3, 8]]) {
      const buffer = engine.putRows({ data: rows, shape });
      expect(engine.read(buffer)).toEqual(rows);
      expect(engine.readInto(buffer, new Uint8Array(96))).toBe(shape[0]! % 4 !== 0);
      engine.free(buffer);
    }
    expect(engine.read(engine.put({ data: rows, shape: [8, 3] }))).toEqual(rows);
    await engine.close();
    expect(plugin!.live("buffer")).toBe(0);
  });
});

describe.skipIf(!backend)("with XLA's CPU client (needs a C compiler, koffi, and jaxlib in python3)", () => {
  beforeAll(() => void (process.env.HOOKLINE_TEST_PJRT_BACKEND = backend));

  it.each([
    ["mlp with batch norm and dropout", [4]],
    ["wide", [4]],
    ["transformer", [2, 8]],
  ])("%s: the losses of one device on %j", async (name, counts) => {
    const one = await fit(name, 1);
    for (const devices of counts) expect(difference(await fit(name, devices), one)).toBeLessThan(ROUNDING);
  });

  it("hooks that split the step, and accumulated gradients, find the same", async () => {
    const name = "transformer";
    const found: number[] = [];
    const norms: Hook = {
      name: "norms",
      onAfterBackward() {},
      onAfterOptimizerStep: (ctx) => void found.push(ctx.gradNorm),
    };
    const options = { accumulate: 2, hooks: [norms], steps: 2 };
    expect(difference(await fit(name, 4, options), await fit(name, 1, options))).toBeLessThan(ROUNDING);
    expect(difference(found.slice(0, 2), found.slice(2))).toBeLessThan(ROUNDING);
  });

  it("each has a share of the optimizer's state, whatever plan a step has", async () => {
    const numbers = { divided: 4096 * 6, whole: 4096 + 5 * 4096 + 5 };
    for (const hooks of [[], [nanGuard()]]) {
      const engine = new XlaEngine({ devices: 4 });
      await using trainer = new Trainer({
        ...MODELS.wide!(),
        engine,
        loss: crossEntropy(),
        optimizer: adamw({ lr: 0.01 }),
        steps: 5,
        signals: false,
        hooks,
      });
      await trainer.fit();
      // Parameters and small slots four times, the shares of large ones once. What else there is, is small.
      const expected = 4 * (4 * (numbers.divided + 3 * numbers.whole) + 2 * numbers.divided);
      expect(engine.memory!.bytesInUse).toBeGreaterThanOrEqual(expected);
      expect(engine.memory!.bytesInUse).toBeLessThan(expected + 4 * numbers.divided);
      await trainer.close();
      await engine.close();
    }
  });

  it.each(["transformer", "wide"])("continues on other devices what was saved on four: %s", async (name) => {
    const runDir = tempDir();
    const first = await fit(name, 4, { runDir, steps: 3, hooks: [modelCheckpoint({ every: 3 })] });
    const second = await fit(name, 2, { runDir }, true);
    expect(difference([...first, ...second], await fit(name, 1))).toBeLessThan(ROUNDING);
  });
});
