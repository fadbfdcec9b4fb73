// saveWeights and convertCheckpoint: formats, names and types; files appear whole or not at all. PyTorch reads them in
// tests/interop.
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { CheckpointError, OptionError } from "../../core/errors.ts";
import { decodePt, encodePt } from "../formats/torch/pt.ts";
import { decodeSafetensors, encodeSafetensors } from "../formats/safetensors.ts";
import { readWeights } from "./read-weights.ts";
import { type ConvertOptions, convertCheckpoint, saveWeights } from "./write-weights.ts";
import { openDirectoryStore } from "../stores/directory-store.ts";
import { rawValues } from "../formats/tensor-values.ts";
import type { FileTensors } from "../formats/tensor.ts";

const root = mkdtempSync(`${tmpdir()}/hookline-write-weights-`);
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

const stored: FileTensors = {
  "module.w": { dtype: "F32", shape: [2], bytes: new Uint8Array(Float32Array.of(1.5, 1 + 2 ** -11).buffer) },
  "module.n": { dtype: "I64", shape: [], bytes: new Uint8Array(BigInt64Array.of(7n).buffer) },
};
const read = (name: string) => decodeSafetensors(readFileSync(`${home}/${name}`), name);
const convert = (from: string, to: string, options?: ConvertOptions) =>
  convertCheckpoint(`${home}/${from}`, `${home}/${to}`, options);

test("from .pt to safetensors and back, nothing lost", async () => {
  writeFileSync(`${home}/m.bin`, encodePt({ state_dict: stored, epoch: 1 }));
  const made = await convert("m.bin", "m.safetensors");
  expect(made).toEqual({ path: `${home}/m.safetensors`, tensors: 2, bytes: readFileSync(made.path).length });
  expect({ ...read("m.safetensors").tensors }).toEqual(stored);
  expect({ ...read("m.safetensors").metadata }).toEqual({ format: "pt" });
  await convert("m.safetensors", "again.pt");
  expect(decodePt(readFileSync(`${home}/again.pt`), "m")).toEqual(stored);
  expect(readdirSync(home).toSorted()).toEqual(["again.pt", "m.bin", "m.safetensors"]);
});

test("metadata stays, names and types change", async () => {
  writeFileSync(`${home}/m.safetensors`, encodeSafetensors(stored, { format: "np", note: "x" }));
  await convert("m.safetensors", "half.safetensors", { prefix: "module.", rename: { w: "weight" }, dtype: "F16" });
  const { tensors: found, metadata } = read("half.safetensors");
  expect({ ...metadata }).toEqual({ format: "np", note: "x" });
  expect(Object.keys(found)).toEqual(["n", "weight"]);
  expect(found.n).toEqual(stored["module.n"]);
  expect(found.weight).toMatchObject({ dtype: "F16", shape: [2] });
  // 1 + 2⁻¹¹ lies halfway and goes to the even one, 1.
  expect([...rawValues(found.weight!)]).toEqual([0x3e00, 0x3c00]);
  await convert("half.safetensors", "full.safetensors", { dtype: "F32" });
  expect([...rawValues(read("full.safetensors").tensors.weight!)]).toEqual([1.5, 1]);
});

test("the averaged weights of a run, or its own", async () => {
  const store = await openDirectoryStore(`${home}/run/checkpoints`, { thread: false });
  const files = {
    "model.safetensors": encodeSafetensors({ own: stored["module.w"]! }),
    "model-ema.safetensors": encodeSafetensors({ averaged: stored["module.w"]! }),
  };
  await store.save("a", files, { step: 1, epoch: 0, reason: "last", metrics: {}, time: 1, runId: "r" });
  await store.close();
  await convert("run", "ema.safetensors");
  await convert("run", "own.safetensors", { averaged: false });
  expect(Object.keys(read("ema.safetensors").tensors)).toEqual(["averaged"]);
  expect(Object.keys(read("own.safetensors").tensors)).toEqual(["own"]);
});

describe("refuses", () => {
  beforeEach(() => writeFileSync(`${home}/m.safetensors`, encodeSafetensors(stored)));

  test("to replace a file, unless told to", async () => {
    await expect(convert("m.safetensors", "m.safetensors")).rejects.toThrow(
      "it is there already. Choose another name, or use overwrite: true.",
    );
    await convert("m.safetensors", "m.safetensors", { overwrite: true, prefix: "module." });
    expect(Object.keys(read("m.safetensors").tensors)).toEqual(["n", "w"]);
    await expect(convert("m.safetensors", "m.safetensors", { overwrite: true, rename: { x: "y" } })).rejects.toThrow(
      "which is not there",
    );
    expect(Object.keys(read("m.safetensors").tensors)).toEqual(["n", "w"]);
  });

  test("a name that does not say what to write", async () => {
    await expect(convert("m.safetensors", "m.npz")).rejects.toThrow(OptionError);
    await expect(convert("m.safetensors", "m.npz")).rejects.toThrow("End it in .safetensors, .pt, .pth, .bin, .ckpt");
    await expect(convert("m.safetensors", "m.safetensors.index.json")).rejects.toThrow(OptionError);
    await convert("m.safetensors", "m.weights", { format: "pt" });
    expect(decodePt(readFileSync(`${home}/m.weights`), "m")).toEqual(stored);
  });

  test("places where no file can be", async () => {
    mkdirSync(`${home}/dir.pt`);
    await expect(convert("m.safetensors", "dir.pt", { overwrite: true })).rejects.toThrow("it is a directory");
    await expect(convert("m.safetensors", "nowhere/m.pt")).rejects.toThrow("nowhere: it does not exist");
    await expect(convert("m.safetensors", "m.safetensors/m.pt")).rejects.toThrow("it is no directory");
    expect(readdirSync(home)).toEqual(["dir.pt", "m.safetensors"]);
  });

  test.each<[string, ConvertOptions, string]>([
    ["a wrong prefix", { prefix: "model." }, 'does not begin with the prefix "model."'],
    ["a misspelled option", { dtpye: "F16" } as ConvertOptions, "Did you mean `dtype`?"],
    ["an unknown type", { dtype: "F8" } as unknown as ConvertOptions, 'one of "F32", "F16", "BF16"'],
  ])("%s", async (_name, options, says) => {
    await expect(convert("m.safetensors", "n.pt", options)).rejects.toThrow(says);
    expect(readdirSync(home)).toEqual(["m.safetensors"]);
  });

  test("to make a weight infinite", async () => {
    const of = (dtype: "F32" | "F64", bytes: ArrayBuffer) => ({
      w: { dtype, shape: [2], bytes: new Uint8Array(bytes) },
    });
    writeFileSync(`${home}/l.pt`, encodePt(of("F32", Float32Array.of(Infinity, 70_000).buffer)));
    await expect(convert("l.pt", "n.pt", { dtype: "F16" })).rejects.toThrow(CheckpointError);
    await expect(convert("l.pt", "n.pt", { dtype: "F16" })).rejects.toThrow(
      'l.pt: tensor "w" has the number 70000, which is too large for F16. Convert to BF16, which has the range of F32.',
    );
    await convert("l.pt", "n.safetensors", { dtype: "BF16" });
    expect([...rawValues(read("n.safetensors").tensors.w!)]).toEqual([0x7f80, 0x4789]);
    writeFileSync(`${home}/d.pt`, encodePt(of("F64", Float64Array.of(0.1, 1e300).buffer)));
    await expect(convert("d.pt", "n.pt", { dtype: "F32" })).rejects.toThrow("1e+300, which is too large for F32");
  });
});
