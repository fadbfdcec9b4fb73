// DoRA gives PEFT's numbers: logits and gradients of PEFT's own adapters, and their merged weights.
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Hook } from "hookline";
import { readWeights } from "hookline/checkpoint";
import { loadModel, lora, saveModel } from "hookline/lm";
import { tempDir } from "../support/temp-dir.ts";
import { ENGINES } from "./engines.ts";
import { doraFolder, goldenFolder, readGolden, relativeError } from "./golden-files.ts";
import { training } from "./training.ts";

const NEAR = 1e-4;

describe.each(["llama", "gpt2"] as const)("%s", (name) => {
  test.each(ENGINES)("%s: logits and gradients of an adapter of PEFT", async (engine) => {
    const golden = await readWeights(`${doraFolder(name)}/golden.safetensors`);
    const gradients = new Map<string, ArrayLike<number>>();
    const read: Hook = {
      name: "read",
      async onAfterBackward(ctx) {
        for (const each of ctx.grads.names) gradients.set(each, (await ctx.grads.get(each)).data);
      },
    };
    const options = { engine, hooks: [read] };
    const { trainer, logits } = await training(name, { adapter: doraFolder(name) }, goldenFolder(name), 1, options);
    await using _ = trainer;
    expect(relativeError((await logits()).data, golden.logits!.data)).toBeLessThan(NEAR);
    await trainer.fit();
    const expected = Object.entries(golden).filter(([key]) => key.startsWith("grad."));
    expect(gradients.size).toBe(expected.length);
    for (const [key, { data }] of expected) {
      const own = key.replace("grad.base_model.model.", "");
      expect(relativeError(gradients.get(own)!, data), own).toBeLessThan(NEAR);
    }
  });

  test("an adapter of PEFT merges as PEFT merges it", async () => {
    const out = join(tempDir(), "merged");
    await saveModel(await loadModel(goldenFolder(name), { adapter: doraFolder(name) }), out, { merge: true });
    const golden = await readWeights(`${doraFolder(name)}/golden.safetensors`);
    const { trainer, logits } = await training(name, {}, out);
    await using _ = trainer;
    expect(relativeError((await logits()).data, golden.merged!.data)).toBeLessThan(NEAR);
  });

  test("a new adapter changes nothing at first, and its magnitudes are trained", async () => {
    const { trainer, logits } = await training(name, { adapter: lora({ rank: 2, dora: true }) });
    await using _ = trainer;
    const golden = await readGolden(name);
    const before = await trainer.stateDict();
    expect(relativeError((await logits()).data, golden.logits.data)).toBeLessThan(NEAR);
    await trainer.fit();
    const after = await trainer.stateDict();
    const magnitudes = Object.keys(after).filter((each) => each.endsWith(".lora_magnitude_vector"));
    expect(magnitudes).toHaveLength(Object.keys(after).length / 3);
    for (const each of magnitudes) expect(relativeError(after[each]!.data, before[each]!.data)).toBeGreaterThan(1e-3);
  });

  test("a matrix of zeros stays one, also merged", async () => {
    const folder = join(tempDir(), "zeros");
    cpSync(goldenFolder(name), folder, { recursive: true });
    clearFirstMatrix(`${folder}/model.safetensors`);
    const model = await loadModel(folder, { adapter: lora({ rank: 2, dora: true }) });
    const merged = `${folder}-merged`;
    await saveModel(model, merged, { merge: true });
    const plain = await training(name, {}, folder);
    await using _plain = plain.trainer;
    const expected = (await plain.logits()).data;
    for (const from of [model, merged]) {
      const { trainer, logits } = await training(name, {}, from);
      await using _ = trainer;
      expect(relativeError((await logits()).data, expected)).toBeLessThan(NEAR);
    }
  });

  test("dropout leaves what the adapter does not see to the base", async () => {
    // Without a change by A and B, and with the base's magnitudes, nothing is left that dropout could change.
    const { trainer } = await training(name, { adapter: lora({ rank: 2, dora: true, dropout: 0.5 }) }, undefined, 1);
    await using _ = trainer;
    const { metrics } = await trainer.fit();
    expect(metrics["train/loss"]).toBeCloseTo((await readGolden(name)).loss, 4);
  });
});

/** Writes zeros over a matrix that adapters change. */
function clearFirstMatrix(path: string): void {
  const bytes = readFileSync(path);
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString("utf8", 8, start)) as Record<string, { data_offsets: [number, number] }>;
  const key = Object.keys(header).find((each) => /(q_proj|c_attn)\.weight$/.test(each))!;
  const [from, to] = header[key]!.data_offsets;
  writeFileSync(path, bytes.fill(0, start + from, start + to));
}
