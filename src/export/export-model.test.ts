// Folders of exported models: what is in them, which weights, and what is refused.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import fs from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { modelCheckpoint } from "hookline";
import { DataLoader } from "hookline/data";
import * as nn from "hookline/nn";
import { tinyData, tinyTrainer } from "hookline/testing";
import { onnxSession, outputDifferences } from "../../tests/support/onnx-session.ts";
import { pure } from "../nn/layer.ts";
import { exportModel } from "./export-model.ts";
import { readSavedModel } from "./saved-model.ts";

let dir: string;
const at = (...parts: string[]): string => join(dir, ...parts);

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "export-"));
  // The metric is best at the second evaluation.
  const values = [3, 1, 2];
  await using trainer = tinyTrainer({
    runDir: at("run"),
    samples: 32,
    epochs: 3,
    eval: new DataLoader(tinyData(8), { batchSize: 4 }),
    hooks: [
      { name: "scripted", logs: ["val/x"], onEvalEnd: (ctx) => ctx.log({ "val/x": values.shift()! }) },
      modelCheckpoint({ monitor: "val/x", saveTopK: 1 }),
    ],
  });
  await trainer.fit();
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("formats", () => {
  it("hookline: a folder from which the model is read again", async () => {
    const exported = await exportModel(at("run"), at("folder"));
    expect(Object.keys(exported.files)).toEqual(["model.json", "weights.safetensors"]);
    expect(exported.from).toMatch(/checkpoint step-\d+ \(best\)$/);
    const [original, copy] = [await readSavedModel(at("run")), await readSavedModel(at("folder"))];
    expect(copy.program).toEqual(original.program);
    expect(copy.weights).toEqual(original.weights);
    expect(copy.metrics).toEqual(original.metrics);
  });

  it("onnx: with the best weights", async () => {
    await exportModel(at("run"), at("onnx"), { format: "onnx" });
    expect(readdirSync(at("onnx")).sort()).toEqual(["model.json", "model.onnx"]);
    const run = await onnxSession([readFileSync(at("onnx", "model.onnx"))]);
    const { x } = tinyData(8);
    await using trainer = tinyTrainer({});
    await trainer.loadStateDict((await readSavedModel(at("run"))).weights);
    const output = await trainer.predict(new DataLoader(tinyData(8), { batchSize: 8 }));
    expect(outputDifferences(await run({ x }), { output: output as never }, 1e-6)).toEqual([]);
  });

  it("safetensors: the weights and what they are", async () => {
    await exportModel(at("run"), at("weights"), { format: "safetensors", checkpoint: "last" });
    const { program, weights, signature } = await readSavedModel(at("weights"));
    expect(program).toBeUndefined();
    expect(signature!.inputs).toEqual({ x: { shape: [null, 3], dtype: "float32" } });
    expect(weights).toEqual((await readSavedModel(at("run"), { checkpoint: "last" })).weights);
    expect(weights).not.toEqual((await readSavedModel(at("run"))).weights);
  });
});

describe("which weights", () => {
  it("a checkpoint by its path or its name", async () => {
    const [name] = readdirSync(at("run", "checkpoints")).filter((each) => each.startsWith("step-"));
    const byName = await readSavedModel(at("run"), { checkpoint: name! });
    expect((await readSavedModel(at("run", "checkpoints", name!))).weights).toEqual(byName.weights);
    await expect(exportModel(at("run"), at("no"), { checkpoint: "step-99" })).rejects.toThrow(
      /has no checkpoint `step-99`/,
    );
  });
});

describe("refused", () => {
  it("a folder that has something in it", async () => {
    mkdirSync(at("full"));
    writeFileSync(at("full", "notes.txt"), "mine");
    await expect(exportModel(at("run"), at("full"), { overwrite: true })).rejects.toThrow(/full has other files in it/);
    await exportModel(at("run"), at("again"));
    await expect(exportModel(at("run"), at("again"))).rejects.toThrow(/again has a model already/);
    await exportModel(at("run"), at("again"), { format: "onnx", overwrite: true });
    expect(existsSync(at("again", "weights.safetensors"))).toBe(false);
  });

  it("nothing is left of an export that fails, and what a crash leaves can be replaced", async () => {
    const real = fs.rename;
    const rename = vi.spyOn(fs, "rename").mockImplementation(async (from, to) => {
      if (String(to).endsWith("model.json")) throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
      return real(from, to);
    });
    await expect(exportModel(at("run"), at("disk"))).rejects.toThrow(/the disk is full/);
    rename.mockRestore();
    expect(readdirSync(at("disk"))).toEqual([]);
    for (const name of ["weights.safetensors", "model.json.0-1.tmp"]) writeFileSync(at("disk", name), "a part");
    await expect(exportModel(at("run"), at("disk"))).rejects.toThrow(/disk has a model, or a part of one, already/);
    await exportModel(at("run"), at("disk"), { overwrite: true });
    expect(readdirSync(at("disk")).sort()).toEqual(["model.json", "weights.safetensors"]);
  });

  it("a model that could not be captured, except for its weights", async () => {
    const model = nn.sequential({ first: nn.linear(3, 1), all: pure((x) => x.ref.sub(x.mean(0, { keepdims: true }))) });
    await using trainer = tinyTrainer({ runDir: at("rows"), steps: 1, model, hooks: [modelCheckpoint({ every: 1 })] });
    await trainer.fit();
    await expect(exportModel(at("rows"), at("none"), { format: "onnx" })).rejects.toThrow(
      /cannot be exported without its code: The forward pass depends on the number of rows in the primitive `mul` of layer `all`/,
    );
    expect(existsSync(at("none"))).toBe(false);
    await exportModel(at("rows"), at("only-weights"), { format: "safetensors" });
    expect(Object.keys((await readSavedModel(at("only-weights"))).weights)).toEqual(["first.bias", "first.weight"]);
  });

  it("a run without model.json, and what is no run", async () => {
    rmSync(at("rows", "model.json"));
    await expect(exportModel(at("rows"), at("none"))).rejects.toThrow(
      /rows cannot be exported without its code: it has no model.json/,
    );
    await expect(exportModel(at("nowhere"), at("none"))).rejects.toThrow(/nowhere: it does not exist/);
    await expect(exportModel(at("run"), at("none"), { format: "tflite" as never })).rejects.toThrow(
      /one of "hookline", "onnx"/,
    );
  });
});
