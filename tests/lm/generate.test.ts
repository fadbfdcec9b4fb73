// Generation gives what transformers gives: greedy text of every family, alone and with others, whatever the prompt's length.
import { describe, expect, test } from "vitest";
import { generate, generator, type LanguageModel, loadModel } from "hookline/lm";
import { HAS_NATIVE } from "../support/has-native.ts";
import { GOLDEN, goldenFolder, type GoldenName, readGolden } from "./golden-files.ts";

const ENGINES = HAS_NATIVE ? (["native", "wasm"] as const) : (["wasm"] as const);

/** A fixture that nothing ends: its golden texts go on behind the end of a text. */
async function endless(name: GoldenName): Promise<LanguageModel> {
  const model = await loadModel(goldenFolder(name));
  return Object.create(model, { generation: { value: { ...model.generation, eosTokenIds: [] } } }) as LanguageModel;
}

describe.each(ENGINES)("%s", (engine) => {
  test.each(GOLDEN)("%s: greedy text is that of transformers", async (name) => {
    const { generated } = await readGolden(name);
    await using writer = generator(await endless(name), { engine });
    const ids = await generate(writer, generated.slice(0, 10), { maxTokens: generated.length - 10 }).ids();
    expect([...ids]).toEqual(generated.slice(10));
  });
});
