// Language models in bfloat16, with XLA's CPU client. In float32 `npm run test:xla` runs the tests of tests/lm.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Trainer, type HostArray, type HostBatch } from "hookline";
import { DataLoader } from "hookline/data";
import { generate, generator, loadModel, lora, type BaseStorage } from "hookline/lm";
import { adamw } from "hookline/optim";
import { XlaEngine } from "../../../src/engines/xla/xla-engine.ts";
import { adapterFolder, goldenFolder, readGolden, relativeError } from "../../lm/golden-files.ts";
import { compileTestPlugin, jaxlibBackend } from "./test-plugin.ts";

const plugin = compileTestPlugin();
const backend = plugin && jaxlibBackend();
const cache = mkdtempSync(join(tmpdir(), "hookline-cache-"));
const given = { HOOKLINE_PJRT_PLUGIN: plugin?.path, HOOKLINE_TEST_PJRT_BACKEND: backend, HOOKLINE_CACHE: cache };
let engine: XlaEngine;
beforeAll(() => {
  if (!backend) return;
  Object.assign(process.env, given);
  engine = new XlaEngine({ precision: "bf16" });
});
afterAll(async () => {
  await engine?.close();
  for (const name of Object.keys(given)) delete process.env[name];
  rmSync(cache, { recursive: true, force: true });
  plugin?.remove();
});

/** What PEFT computed in float32, with micro-batches of two rows of which two make a step. */
interface Golden {
  readonly x: readonly (readonly (readonly (readonly number[])[])[])[];
  readonly y: Golden["x"];
  readonly losses: readonly number[];
}
const golden = JSON.parse(readFileSync(new URL("../../lm/fixtures/training.json", import.meta.url), "utf8")) as Golden;
const rows = (nested: Golden["x"]): HostArray => ({
  data: Int32Array.from(nested.flat(3)),
  shape: [nested.length * 4, nested[0]![0]![0]!.length],
});
const data: HostBatch = { x: rows(golden.x), y: rows(golden.y) };
const STEPS = 6;
/** Of a loss, and of the logits of several layers, whose roundings add up. */
const [PRECISE, OF_LAYERS] = [2e-2, 6e-2];

/** Of the first steps; with a base in this form, of the same four rows again and again. */
async function losses(base?: BaseStorage): Promise<number[]> {
  const adapter = base ? lora({ rank: 2 }) : adapterFolder("llama");
  const found: number[] = [];
  await using trainer = new Trainer({
    model: await loadModel(goldenFolder("llama"), { adapter, ...(base && { base }) }),
    train: new DataLoader(data, { batchSize: 2 }),
    optimizer: adamw({ lr: 5e-3, weightDecay: 0.01 }),
    accumulate: 2,
    clipNorm: 0.5,
    ...(base ? { epochs: STEPS, limitBatches: { train: 2 } } : { steps: STEPS }),
    engine,
    signals: false,
    hooks: [{ name: "losses", onStepEnd: ({ loss }) => void found.push(loss) }],
  });
  await trainer.fit();
  return found;
}

describe.skipIf(!backend)("in bf16 (needs a C compiler, koffi, and jaxlib in python3)", () => {
  it.each(["llama", "gpt2"] as const)("%s: logits, and text", async (name) => {
    const { ids, logits, generated } = await readGolden(name);
    const model = await loadModel(goldenFolder(name));
    await using trainer = new Trainer({
      model,
      inputs: ({ x }) => ({ ids: x! }),
      train: new DataLoader({ x: ids, y: ids }, { batchSize: ids.shape[0]! }),
      optimizer: adamw({ lr: 1e-3 }),
      steps: 1,
      engine,
      signals: false,
    });
    const found = (await trainer.predict(new DataLoader({ x: ids }, { batchSize: ids.shape[0]! }))) as HostArray;
    expect(relativeError(found.data, logits.data)).toBeLessThan(OF_LAYERS);
    expect(found.data).not.toEqual(logits.data);
    await using writer = generator(model, { engine });
    const texts = [1, 2].map(() => generate(writer, generated.slice(0, 10), { maxTokens: 8 }).ids());
    const [first, second] = await Promise.all(texts);
    expect(first!.length).toBeGreaterThan(0);
    expect(second).toEqual(first);
  });

  it("LoRA has PEFT's losses", async () => {
    const found = await losses();
    expect(found).toHaveLength(STEPS);
    for (const [i, loss] of found.entries()) expect(Math.abs(loss / golden.losses[i]! - 1)).toBeLessThan(PRECISE);
  });

  it("trains on a packed base", async () => {
    const found = await losses("int4");
    expect(found).toHaveLength(STEPS);
    expect(found.at(-1)).toBeLessThan(found[0]!);
  });
});
