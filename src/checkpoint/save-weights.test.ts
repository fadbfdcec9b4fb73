// What saveWeights writes, readWeights reads; PyTorch's view of such files: tests/interop.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, beforeEach, expect, test } from "vitest";
import { CheckpointError, OptionError } from "../core/errors.ts";
import { decodePt } from "./formats/pt.ts";
import { decodeSafetensors } from "./formats/safetensors.ts";
import { readWeights } from "./read-weights.ts";
import { saveWeights } from "./save-weights.ts";

const root = mkdtempSync(`${tmpdir()}/hookline-save-weights-`);
afterAll(() => rmSync(root, { recursive: true, force: true }));
let home = "";
beforeEach(() => void (home = mkdtempSync(`${root}/`)));

const tensors = {
  "trunk.weight": { data: Float32Array.of(1.5, -2, 0.25, 3), shape: [2, 2] },
  "head.bias": { data: Int32Array.of(7), shape: [1] },
};

test.each(["m.safetensors", "m.pt", "m.bin"])("%s comes back as it was", async (name) => {
  const saved = await saveWeights(`${home}/${name}`, tensors);
  expect(saved).toEqual({ path: `${home}/${name}`, tensors: 2, bytes: readFileSync(saved.path).length });
  expect({ ...(await readWeights(saved.path)) }).toEqual(tensors);
  expect(readdirSync(home)).toEqual([name]);
});

test("the ending says what is written, or `format` does; with other names and in another type", async () => {
  const rename = { trunk: "features" };
  const { path } = await saveWeights(`${home}/weights`, tensors, { format: "pt", dtype: "F16", rename });
  expect(decodePt(readFileSync(path), "it")).toMatchObject({
    "features.weight": { dtype: "F16", shape: [2, 2] },
    "head.bias": { dtype: "I32" },
  });
  await saveWeights(`${home}/m.safetensors`, tensors);
  expect({ ...decodeSafetensors(readFileSync(`${home}/m.safetensors`), "it").metadata }).toEqual({ format: "pt" });
});

test("what cannot be written is an error, and nothing is there", async () => {
  await expect(saveWeights(`${home}/m.onnx`, tensors)).rejects.toThrow(/^saveWeights: .* does not say what to write/);
  await expect(saveWeights(`${home}/m.pt`, tensors, { rename: { trnk: "x" } })).rejects.toThrow(CheckpointError);
  await expect(saveWeights(`${home}/none/m.pt`, tensors)).rejects.toThrow(CheckpointError);
  await expect(saveWeights(`${home}/m.pt`, [] as never)).rejects.toThrow(OptionError);
  expect(readdirSync(home)).toEqual([]);
});

test("a file that is there is replaced only when told so", async () => {
  const path = `${home}/m.pt`;
  await saveWeights(path, tensors);
  await expect(saveWeights(path, {})).rejects.toThrow("it is there already");
  await saveWeights(path, { "head.bias": tensors["head.bias"] }, { overwrite: true });
  expect(Object.keys(await readWeights(path))).toEqual(["head.bias"]);
});
