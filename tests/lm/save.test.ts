// What saveModel writes: PEFT and transformers load it and compute the same, and so does hookline.
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { readWeights, saveWeights } from "hookline/checkpoint";
import { architectureOf, languageModel, loadModel, lora, saveModel } from "hookline/lm";
import type { HostArray } from "../../src/core/arrays.ts";
import { tempDir } from "../support/temp-dir.ts";
import { adapterFolder, goldenFolder, type GoldenName, relativeError } from "./golden-files.ts";
import { training } from "./training.ts";

/** One with transformers and PEFT: `HOOKLINE_PYTHON`, else Debian's, which may have them from pip. */
const python = process.env.HOOKLINE_PYTHON ?? "/usr/bin/python3";
const present = spawnSync(python, ["-c", "import peft, transformers"]).status === 0;
if (!present) console.warn(`saved models in transformers are skipped: ${python} -m pip install transformers peft`);

/** What the last test compares: a base or "", a saved folder, a file with ids and logits; and the error that is allowed. */
const saved: (readonly [base: string, folder: string, check: string, error: number])[] = [];
const home = mkdtempSync(join(tmpdir(), "hookline-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

test.each([
  ["llama", {}],
  ["gpt2", { rslora: true }],
  ["llama", { dora: true, dropout: 0.1 }],
  ["gpt2", { dora: true }],
] as const)("%s with %o: an adapter and the merged model compute what was trained", async (name, options) => {
  const out = join(home, `${name}-${Object.keys(options).join("-")}`);
  const { trainer, ids, logits } = await training(name, { adapter: lora({ rank: 4, ...options }) });
  await using _ = trainer;
  await trainer.fit();
  const expected = await logits();
  const [adapter, merged, rounded] = ["adapter", "merged", "rounded"].map((each) => join(out, each)) as [
    string,
    string,
    string,
  ];
  expect((await saveModel(trainer, adapter)).difference).toBeLessThan(1e-5);
  expect((await saveModel(trainer, merged, { merge: true })).difference).toBeLessThan(1e-5);
  const bf16 = await saveModel(trainer, rounded, { merge: true, dtype: "BF16", maxShard: 20_000 });
  expect(bf16.difference).toBeGreaterThan(1e-4);
  expect(
    Object.keys(bf16.files).filter((file) => /^model-0000\d-of-0000\d\.safetensors$/.test(file)).length,
  ).toBeGreaterThan(1);

  const again = await training(name, { adapter });
  expect(relativeError((await again.logits()).data, expected.data)).toBeLessThan(1e-5);
  await again.trainer.close();
  for (const [folder, error] of [
    [merged, 1e-4],
    [rounded, 0.1],
  ] as const) {
    const whole = await training(name, {}, folder);
    expect(relativeError((await whole.logits()).data, expected.data)).toBeLessThan(error);
    await whole.trainer.close();
  }
  const check = join(out, "check.safetensors");
  await saveWeights(check, { ids, logits: expected });
  saved.push([goldenFolder(name), adapter, check, 1e-4], ["", merged, check, 1e-4], ["", rounded, check, 0.1]);
});

test.each(["llama", "llama-untied", "qwen3", "gemma3", "gpt2"] as const)(
  "%s: an adapter of PEFT merges as PEFT merges it",
  async (name) => {
    const out = join(tempDir(), "merged");
    await saveModel(await loadModel(goldenFolder(name), { adapter: adapterFolder(name) }), out, { merge: true });
    const golden = await readWeights(`${adapterFolder(name)}/golden.safetensors`);
    const { trainer, logits } = await training(name, {}, out);
    await using _ = trainer;
    expect(relativeError((await logits()).data, golden.merged!.data)).toBeLessThan(1e-4);
  },
);

test("a model trained from nothing is loaded again", async () => {
  const out = join(home, "new");
  const config = {
    model_type: "qwen3",
    vocab_size: 97,
    hidden_size: 32,
    intermediate_size: 48,
    num_hidden_layers: 2,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    head_dim: 8,
  };
  const { trainer, ids, logits } = await training("qwen3", {}, languageModel(architectureOf(config)), 20);
  await using _ = trainer;
  const { metrics } = await trainer.fit();
  expect(metrics["train/loss"]).toBeLessThan(0.9 * Math.log(97));
  const folder = join(out, "model");
  await saveModel(trainer, folder, { card: { data: "Random ids.", results: { perplexity: 9 } } });
  // Other programs, such as llama.cpp's converter, look here for what the model is.
  expect(JSON.parse(readFileSync(join(folder, "config.json"), "utf8"))).toMatchObject({
    ...config,
    architectures: ["Qwen3ForCausalLM"],
  });
  const expected = await logits();
  const again = await training("qwen3", {}, folder);
  expect(relativeError((await again.logits()).data, expected.data)).toBeLessThan(1e-5);
  await again.trainer.close();
  expect(readFileSync(join(folder, "README.md"), "utf8")).toMatch(
    /library_name: transformers[^]*Random ids\.[^]*\| perplexity \| 9 \|/,
  );
  const check = join(out, "check.safetensors");
  await saveWeights(check, { ids, logits: expected });
  saved.push(["", folder, check, 1e-4]);
});

test.skipIf(!present)("transformers and PEFT load them, and compute the same", () => {
  const script = fileURLToPath(new URL("./saved-check.py", import.meta.url));
  const paths = saved.flatMap(([base, folder, check]) => [base, folder, check]);
  const { status, stdout, stderr } = spawnSync(python, [script, ...paths], { encoding: "utf8" });
  expect(status, stderr).toBe(0);
  const errors = stdout.trim().split("\n").map(Number);
  expect(errors).toHaveLength(13);
  for (const [i, error] of errors.entries()) expect(error, saved[i]![1]).toBeLessThan(saved[i]![3]);
});

describe("folders", () => {
  const base = (): string => {
    const folder = join(tempDir(), "base");
    cpSync(goldenFolder("llama"), folder, { recursive: true });
    writeFileSync(join(folder, "tokenizer_config.json"), "{ }\r\n");
    return folder;
  };
  const adapted = (folder: string) => loadModel(folder, { adapter: lora() });

  test("files of the tokenizer are copied byte for byte", async () => {
    const folder = base();
    const template = "additional_chat_templates/tool_use.jinja";
    mkdirSync(join(folder, "additional_chat_templates"));
    writeFileSync(join(folder, template), "{{ tools }}");
    const out = join(tempDir(), "a/b");
    const { files } = await saveModel(await adapted(folder), out, { merge: true });
    expect(files[template]).toBe(11);
    for (const name of ["tokenizer_config.json", "generation_config.json", template])
      expect(readFileSync(join(out, name))).toEqual(readFileSync(join(folder, name)));
  });

  test("the base's own folder is refused, by any name", async () => {
    const folder = base();
    const link = join(tempDir(), "link");
    symlinkSync(folder, link);
    const before = readdirSync(folder);
    for (const to of [folder, `${folder}/.`, link])
      await expect(saveModel(await adapted(folder), to, { merge: true, overwrite: true })).rejects.toThrow(
        "it is the folder of the model's own base",
      );
    expect(readdirSync(folder)).toEqual(before);
  });

  test("a folder with other files, or with a model unless it may be replaced", async () => {
    const model = await adapted(base());
    const parent = tempDir();
    const out = join(parent, "out");
    mkdirSync(out);
    await saveModel(model, out);
    await expect(saveModel(model, out)).rejects.toThrow(
      "it has a model already. Choose another folder, or use overwrite: true (--overwrite).",
    );
    await saveModel(model, out, { merge: true, overwrite: true });
    expect(existsSync(join(out, "adapter_config.json"))).toBe(false);
    writeFileSync(join(parent, "notes"), "");
    await expect(saveModel(model, parent, { overwrite: true })).rejects.toThrow("it has other files in it");
    expect(readdirSync(parent).sort()).toEqual(["notes", "out"]);
  });

  test("numbers that the type cannot hold leave nothing behind", async () => {
    const parent = tempDir();
    const golden = await readWeights(`${goldenFolder("llama")}/model.safetensors`);
    const { architecture } = await loadModel(goldenFolder("llama"));
    const large: HostArray = { data: golden["model.norm.weight"]!.data.map(() => 1e6), shape: [32] };
    const model = languageModel(architecture, { tensors: { ...golden, "model.norm.weight": large } });
    await expect(saveModel(model, join(parent, "out"), { dtype: "F16" })).rejects.toThrow("too large for F16");
    expect(readdirSync(parent)).toEqual([]);
  });

  test("what is no language model, and a merge without an adapter", async () => {
    const name: GoldenName = "llama";
    await expect(saveModel(await loadModel(goldenFolder(name)), "x", { merge: true })).rejects.toThrow(
      "no adapter to merge",
    );
    await expect(saveModel({} as never, "x")).rejects.toThrow(
      "expected a Trainer with a model of loadModel or languageModel",
    );
  });
});
