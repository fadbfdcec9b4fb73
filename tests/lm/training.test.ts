// Training of language models gives PEFT's numbers, and does not depend on how rows, batches and micro-batches are cut.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type HostBatch, Trainer, type TrainerOptions } from "hookline";
import { memoryStore } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { type LanguageModel, loadModel, type LoadModelOptions, lora, readExamples, sft } from "hookline/lm";
import { adamw, sgd } from "hookline/optim";
import { ENGINE } from "./engines.ts";
import { adapterFolder, goldenFolder, relativeError } from "./golden-files.ts";

const llama = (options: LoadModelOptions = { adapter: adapterFolder("llama") }) =>
  loadModel(goldenFolder("llama"), options);

interface Golden {
  readonly x: readonly (readonly (readonly (readonly number[])[])[])[];
  readonly y: Golden["x"];
  readonly losses: readonly number[];
  readonly norms: readonly number[];
  readonly adapter: Readonly<Record<string, readonly number[]>>;
}

/** What fixtures/make-training.py computed with PEFT. */
const golden = JSON.parse(readFileSync(new URL("fixtures/training.json", import.meta.url), "utf8")) as Golden;

const rows = (nested: Golden["x"]): { data: Int32Array; shape: number[] } => ({
  data: Int32Array.from(nested.flat(3)),
  shape: [nested.length * 4, nested[0]![0]![0]!.length],
});
const data: HostBatch = { x: rows(golden.x), y: rows(golden.y) };

interface Trained {
  readonly losses: readonly number[];
  readonly params: Readonly<Record<string, ArrayLike<number>>>;
}

async function trained(model: LanguageModel, options: Partial<TrainerOptions>): Promise<Trained> {
  const losses: number[] = [];
  await using trainer = new Trainer({
    model,
    train: new DataLoader(data, { batchSize: 2 }),
    optimizer: adamw({ lr: 5e-3, weightDecay: 0.01 }),
    epochs: 1,
    engine: ENGINE,
    signals: false,
    hooks: [{ name: "losses", onStepEnd: ({ loss }) => void losses.push(loss) }],
    ...options,
  });
  await trainer.fit();
  const params = Object.entries(await trainer.stateDict()).map(([name, { data: values }]) => [name, values] as const);
  return { losses, params: Object.fromEntries(params) };
}

test("twenty steps of LoRA are PEFT's, step by step, with unequal labels in the micro-batches", async () => {
  const { losses, params } = await trained(await llama(), { accumulate: 2, clipNorm: 0.5 });
  expect(losses).toHaveLength(20);
  for (const [i, loss] of losses.entries()) expect(Math.abs(loss / golden.losses[i]! - 1)).toBeLessThan(1e-4);
  expect(Object.keys(params).sort()).toEqual(Object.keys(golden.adapter).sort());
  for (const [name, expected] of Object.entries(golden.adapter))
    expect(relativeError(Array.from(params[name]!).slice(0, 4), expected), name).toBeLessThan(2e-3);
});

test("accumulated micro-batches are one batch, although their labels are unequal in number", async () => {
  // Plain gradient descent shows a gradient's size, which Adam would hide.
  const how = { optimizer: sgd({ lr: 0.5 }), limitBatches: { train: 8 } };
  const apart = await trained(await llama(), { ...how, accumulate: 2 });
  const batched = await trained(await llama(), {
    ...how,
    limitBatches: { train: 4 },
    train: new DataLoader(data, { batchSize: 4 }),
  });
  expect(relativeError(apart.losses, batched.losses)).toBeLessThan(1e-5);
  for (const [name, values] of Object.entries(batched.params))
    expect(relativeError(apart.params[name]!, values), name).toBeLessThan(1e-4);
});

/** Examples of unequal lengths, of which only the last tokens count. */
const lines = Array.from({ length: 9 }, (_, i) => {
  const ids = Array.from({ length: 6 + ((7 * i) % 23) }, (__, t) => 3 + ((13 * i + 5 * t * t) % 90));
  return JSON.stringify({ ids, labels: ids.map((id, t) => (t < 3 ? -100 : id)) });
});

test("packed rows are the examples apart", async () => {
  const model = await llama();
  const step = async (pack: boolean) => {
    const examples = await readExamples({ text: lines.join("\n") }, model, { length: 32, pack });
    const batchSize = examples.statistics.rows;
    const options = { ...sft(model, examples, { batchSize }), optimizer: sgd({ lr: 0.5 }), steps: 1 };
    return { ...(await trained(model, options)), rows: batchSize };
  };
  const [packed, apart] = [await step(true), await step(false)];
  expect(packed.rows).toBeLessThan(apart.rows);
  expect(relativeError(packed.losses, apart.losses)).toBeLessThan(1e-5);
  for (const [name, values] of Object.entries(apart.params))
    expect(relativeError(packed.params[name]!, values), name).toBeLessThan(1e-4);
});

test("a run that is resumed in the middle of a packed epoch has the bits of one that was not interrupted", async () => {
  const run = async (stops: boolean): Promise<Trained> => {
    const model = await llama({ adapter: lora({ rank: 2, dropout: 0.1 }) });
    const examples = await readExamples({ text: lines.join("\n") }, model, { length: 32 });
    const options = { ...sft(model, examples, { batchSize: 1 }), epochs: 3, accumulate: 2, store: memoryStore() };
    if (stops) {
      await trained(model, {
        ...options,
        hooks: [{ name: "stop", onStepEnd: (ctx) => void (ctx.step === 4 && (ctx.requestSave(), ctx.stop("enough"))) }],
      });
    }
    const losses: number[] = [];
    await using trainer = new Trainer({
      ...options,
      optimizer: adamw({ lr: 5e-3 }),
      engine: ENGINE,
      signals: false,
      hooks: [{ name: "losses", onStepEnd: ({ loss }) => void losses.push(loss) }],
    });
    await trainer.fit(stops ? { resume: "auto" } : {});
    const params = Object.entries(await trainer.stateDict()).map(([name, { data: values }]) => [name, values] as const);
    return { losses, params: Object.fromEntries(params) };
  };
  const [whole, resumed] = [await run(false), await run(true)];
  expect(resumed.losses.length).toBeLessThan(whole.losses.length);
  expect(resumed.losses).toEqual(whole.losses.slice(-resumed.losses.length));
  expect(resumed.params).toEqual(whole.params);
});

test("a model brings its loss, metrics and inputs; what the trainer is given wins", async () => {
  const model = await llama();
  const examples = await readExamples({ text: lines.join("\n") }, model, { length: 32, val: 0.3 });
  const { train, eval: kept } = sft(model, examples, { batchSize: 2 });
  await using trainer = new Trainer({ model, train, eval: kept!, optimizer: adamw({ lr: 1e-3 }), engine: ENGINE });
  const results = await trainer.evaluate(kept!, { name: "val" });
  expect(Object.keys(results).sort()).toEqual(["val/loss", "val/perplexity", "val/tokenAccuracy"]);
  expect(results["val/perplexity"]).toBeCloseTo(Math.exp(results["val/loss"]!), 3);
});

test("sft names what it does not take", async () => {
  const model = await llama();
  const pairs = await readExamples({ text: '{"ids": [4, 5, 6]}' }, model, { length: 8 });
  expect(() => sft(model, pairs, { batchsize: 4 } as never)).toThrow("unknown option `batchsize`. Did you mean");
  expect(() => sft(model, { ...pairs, kind: "preference" }, { batchSize: 4 })).toThrow("`dpo` trains on them");
});
