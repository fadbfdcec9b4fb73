// Generation gives what transformers gives: greedy text of every family, alone and with others, whatever the prompt's length.
import { describe, expect, test } from "vitest";
import { generate, generator, type LanguageModel, loadModel } from "hookline/lm";
import { initKey } from "hookline/nn";
import type { NativeEngine } from "../../src/engines/native/native-engine.ts";
import { selectEngine } from "../../src/engines/select.ts";
import { ENGINE, ENGINES } from "./engines.ts";
import { GOLDEN, goldenFolder, type GoldenName, readGolden } from "./golden-files.ts";
import { greedy, withEngine } from "./programs.ts";
import { textModel } from "./text-model.ts";

/** A fixture that nothing ends: its golden texts go on behind the end of a text. */
async function endless(name: GoldenName): Promise<LanguageModel> {
  const model = await loadModel(goldenFolder(name));
  return Object.create(model, { generation: { value: { ...model.generation, eosTokenIds: [] } } }) as LanguageModel;
}

const range = (count: number, from = 3): number[] => Array.from({ length: count }, (_, i) => from + ((i * 7) % 80));

describe.each(ENGINES)("%s", (engine) => {
  test.each(GOLDEN)("%s: greedy text is that of transformers", async (name) => {
    const { generated } = await readGolden(name);
    await using writer = generator(await endless(name), { engine });
    const ids = await generate(writer, generated.slice(0, 10), { maxTokens: generated.length - 10 }).ids();
    expect([...ids]).toEqual(generated.slice(10));
  });
});

test.each(["gemma3", "gpt2"] as const)("%s: prompts of many lengths, at the same time as alone", async (name) => {
  const model = await endless(name);
  const prompts = [1, 5, 16, 17, 64, 65, 100].map((length, i) => range(length, i + 3));
  await withEngine(ENGINE, async (engine) => {
    const alone: number[][] = [];
    for (const prompt of prompts)
      alone.push((await greedy(engine, model, [prompt], 12, { capacity: 128 }))[0]!.slice(prompt.length));
    await using writer = generator(model, { engine, rows: 3 });
    // Three rows for seven prompts: they leave and join.
    const found = await generate(writer, prompts, { maxTokens: 12 }).ids();
    expect(found.map((ids) => [...ids])).toEqual(alone);
  });
});

test("a text that grows out of its cache goes on as without one", async () => {
  const model = await textModel();
  await withEngine(ENGINE, async (engine) => {
    const prompt = range(250);
    const [whole] = await greedy(engine, model, [prompt], 10, { cached: false, capacity: 280 });
    await using writer = generator(model, { engine });
    expect([...(await generate(writer, prompt, { maxTokens: 10 }).ids())]).toEqual(whole!.slice(250));
    // A prompt of more than one piece, beside a short one.
    const long = range(270);
    const [later] = await greedy(engine, model, [long], 4, { cached: false, capacity: 280 });
    const [a, b] = await generate(writer, [prompt.slice(0, 8), long], { maxTokens: 4 }).ids();
    expect([...b!]).toEqual(later!.slice(270));
    expect([...a!]).toEqual([...(await generate(writer, prompt.slice(0, 8), { maxTokens: 4 }).ids())]);
  });
});

test("text comes in pieces, ends at a stop text, and is the same with the same seed", async () => {
  const model = await textModel();
  await using writer = generator(model, { engine: ENGINE });
  const options = { maxTokens: 40, temperature: 1, seed: 4 };
  const generation = generate(writer, "Once upon a time", options);
  let joined = "";
  let pieces = 0;
  for await (const piece of generation) [joined, pieces] = [joined + piece, pieces + 1];
  expect(pieces).toBeGreaterThan(5);
  expect(await generation.text()).toBe(joined);
  expect(await generation.ids()).toHaveLength(40);
  expect(await generate(writer, "Once upon a time", options).text()).toBe(joined);
  expect(await generate(writer, "Once upon a time", { ...options, seed: 5 }).text()).not.toBe(joined);
  const stop = joined.slice(9, 14);
  const stopped = generate(writer, "Once upon a time", { ...options, stop });
  expect(await stopped.text()).toBe(joined.slice(0, joined.indexOf(stop)));
  expect((await stopped.ids()).length).toBeLessThan(40);
});

test("a token that ends texts ends this one", async () => {
  const free = await textModel();
  await using first = generator(free, { engine: ENGINE });
  const ids = await generate(first, "Hello", { maxTokens: 8 }).ids();
  const end = ids.findIndex((id, i) => i > 1 && ids.indexOf(id) === i);
  await using second = generator(await textModel([ids[end]!]), { engine: ENGINE });
  expect(await generate(second, "Hello", { maxTokens: 8 }).ids()).toEqual(ids.slice(0, end + 1));
});

test("a conversation is written as the model's template says", async () => {
  const model = await textModel();
  await using writer = generator(model, { engine: ENGINE });
  const asked = model.tokenizer.encode("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n", {
    addSpecialTokens: false,
  });
  const answer = await generate(writer, [{ role: "user", content: "Hi" }], { maxTokens: 5 }).ids();
  expect(answer).toEqual(await generate(writer, asked, { maxTokens: 5 }).ids());
});

test("an end in the middle frees everything: a break, a signal, an error", async () => {
  const model = await textModel();
  const engine = await selectEngine(ENGINE);
  await using writer = generator(model, { engine });
  await generate(writer, "Hello", { maxTokens: 2 }).ids();
  const inUse = (): number | undefined => (engine as Partial<NativeEngine>).bytesInUse;
  const before = inUse();
  for await (const _ of generate(writer, "Hello", { maxTokens: 200 })) break;
  const control = new AbortController();
  const reason = new Error("enough");
  const aborted = generate(writer, ["Hello", "World"], { maxTokens: 200, signal: control.signal });
  const seen = (async () => {
    for await (const _ of aborted) control.abort(reason);
  })();
  await expect(seen).rejects.toBe(reason);
  await expect(generate(writer, "Hello", { signal: control.signal }).ids()).rejects.toBe(reason);
  await expect(generate(writer, range(500), { maxTokens: 101 }).ids()).rejects.toThrow(
    "the prompt has 500 tokens and `maxTokens` is 101, but the model's context has 600",
  );
  await expect(generate(writer, [900]).ids()).rejects.toThrow("the id 900, but the model's ids are 0 to 899");
  while (writer.pending > 0) await new Promise((resolve) => setImmediate(resolve));
  await generate(writer, "Hello", { maxTokens: 2 }).ids();
  if (ENGINE === "native") expect(before).toBeGreaterThan(0);
  expect(inUse()).toBe(before);
  await writer.close();
  const parameters = Object.values(model.init(initKey(0))).reduce((sum, { data }) => sum + data.byteLength, 0);
  // Programs keep their constants until the engine closes.
  if (ENGINE === "native") expect(before! - inUse()!).toBeGreaterThanOrEqual(parameters);
  await engine.close();
});

test("what is no prompt and no model is named", async () => {
  const model = await textModel();
  expect(() => generate(model, 5 as never)).toThrow("Expected the prompt to be a text");
  expect(() => generate({ apply() {} } as never, "x")).toThrow("Expected a language model");
  expect(() => generate(model, "x", { maxToken: 5 } as never)).toThrow("Did you mean `maxTokens`?");
});
