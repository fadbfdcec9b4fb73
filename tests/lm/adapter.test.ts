// Adapters of PEFT compute in hookline what they compute in PEFT, and training changes nothing but the adapter.
import { describe, expect, test } from "vitest";
import { readWeights } from "hookline/checkpoint";
import { type BaseStorage, languageModel, loadModel, lora } from "hookline/lm";
import type { HostArray } from "../../src/core/arrays.ts";
import { ADAPTERS, adapterFolder, goldenFolder, readGolden, relativeError } from "./golden-files.ts";
import { logitsFor, withEngine } from "./programs.ts";
import { ENGINE } from "./engines.ts";
import { training } from "./training.ts";

test.each(ADAPTERS)("%s: an adapter of PEFT", async (name) => {
  const golden = await readWeights(`${adapterFolder(name)}/golden.safetensors`);
  const { trainer, logits } = await training(name, { adapter: adapterFolder(name) });
  await using _ = trainer;
  expect(relativeError((await logits()).data, golden.logits!.data)).toBeLessThan(1e-4);
  const alone = await readGolden(name);
  expect(relativeError(alone.logits.data, golden.logits!.data)).toBeGreaterThan(1e-2);
});

test("a new adapter changes nothing at first, and only it is trained", async () => {
  const adapter = lora({ rank: 2, targets: "attention", also: ["lm_head"] });
  const { model, trainer, logits } = await training("llama-untied", { adapter }, undefined, 3);
  await using _ = trainer;
  const golden = await readGolden("llama-untied");
  const before = await logits();
  expect(relativeError(before.data, golden.logits.data)).toBeLessThan(1e-4);
  await trainer.fit();
  expect(relativeError((await logits()).data, before.data)).toBeGreaterThan(1e-2);
  const names = Object.keys(await trainer.stateDict());
  expect(names.filter((name) => !/self_attn\.[qkvo]_proj\.lora_[AB]\.weight$/.test(name))).toEqual(["lm_head.weight"]);
  expect(names).toHaveLength(17);
  expect(model.base!.tensors.has("lm_head.weight")).toBe(false);
});

test("the last layers alone, with dropout", async () => {
  const { model, trainer } = await training("gemma3", { adapter: lora({ layers: 2, dropout: 0.5 }) }, undefined, 2);
  await using _ = trainer;
  await trainer.fit();
  const names = Object.keys(await trainer.stateDict());
  expect(names).toHaveLength(2 * 7 * 2);
  expect(names.every((name) => /^model\.layers\.[45]\./.test(name))).toBe(true);
  // Two windows' layers without an adapter, those with one, and the one that sees everything.
  expect(new Set(model.stack.layers.map(({ kind }) => kind)).size).toBe(3);
});

/** What is left of a matrix in so many bits: whole multiples of a factor for each 32 columns. */
function rounded({ data, shape }: HostArray, bits: number): HostArray {
  const [columns, most] = [shape[1]!, 2 ** (bits - 1) - 1];
  if (columns % 32 !== 0) return { data, shape };
  const result = Float32Array.from(data);
  for (let from = 0; from < data.length; from += 32) {
    const group = result.subarray(from, from + 32);
    const factor = Math.fround(Math.max(...group.map(Math.abs)) / most);
    group.forEach((value, i) => (group[i] = Math.round(value / factor) * factor));
  }
  return { data: result, shape };
}

describe("a packed base", () => {
  test.each([
    ["bf16", 16],
    ["int8", 8],
    ["int4", 4],
  ] as const)("%s: computes with the rounded matrices, and trains", async (base, bits) => {
    const { model, trainer, logits } = await training("llama", { adapter: lora(), base }, undefined, 2);
    await using _ = trainer;
    const { ids } = await readGolden("llama");
    const tensors = await readWeights(`${goldenFolder("llama")}/model.safetensors`);
    // The weights of the checkpoint have no more bits than bf16.
    for (const [name, matrix] of Object.entries(tensors))
      if (bits < 16 && name.endsWith("_proj.weight")) tensors[name] = rounded(matrix, bits);
    const expected = await withEngine(ENGINE, (engine) =>
      logitsFor(engine, languageModel(model.architecture, { tensors }), { ids }),
    );
    expect(relativeError((await logits()).data, expected.data)).toBeLessThan(1e-4);
    expect([...model.base!.tensors.values()].filter(({ dtype }) => dtype === "uint32")).toHaveLength(
      bits < 16 ? 12 : 14,
    );
    expect((await trainer.fit()).steps).toBe(2);
  });

  test("has another digest with other bits, and the same one each time", async () => {
    const digest = async (base: BaseStorage): Promise<string> =>
      (await loadModel(goldenFolder("llama"), { adapter: lora(), base })).base!.digest;
    expect(await digest("int8")).toBe(await digest("int8"));
    expect(await digest("int8")).not.toBe(await digest("int4"));
  });
});
