// Weights from every kind of place, the averaged ones where there are any, and what is said where there are none.
import { execFileSync } from "node:child_process";
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { CheckpointError, OptionError } from "../../core/errors.ts";
import { openDirectoryStore } from "../stores/directory-store.ts";
import { inspectCheckpoint } from "./inspect.ts";
import { encodePt } from "../formats/torch/pt.ts";
import { encodeSafetensors } from "../formats/safetensors.ts";
import type { FileTensors } from "../formats/tensor.ts";
import { encodeTorchCheckpoint } from "../formats/torch/torch-checkpoint.ts";
import { readWeights } from "./read-weights.ts";

const home = mkdtempSync(`${tmpdir()}/hookline-weights-`);
afterAll(() => rmSync(home, { recursive: true, force: true }));

const weights = (value: number): FileTensors => ({
  w: { dtype: "F32", shape: [2], bytes: new Uint8Array(Float32Array.of(value, -value).buffer) },
});
const run = `${home}/run`;

beforeAll(async () => {
  const store = await openDirectoryStore(`${run}/checkpoints`, { thread: false });
  const info = { epoch: 0, reason: "interval", metrics: {}, time: 1, runId: "r" } as const;
  const model = (value: number) => ({
    "model.safetensors": encodeSafetensors(weights(value)),
    "state.json": Uint8Array.of(),
  });
  const ema = { "model-ema.safetensors": encodeSafetensors(weights(20.5)) };
  const pt = encodeTorchCheckpoint({ model: weights(4), optimizers: [], step: 4, epoch: 0 });
  await store.save("step-1", model(1), { ...info, step: 1 });
  await store.save("step-2", { ...model(2), ...ema }, { ...info, step: 2 });
  await store.save("step-3", model(3), { ...info, step: 3 });
  await store.save("step-4", { "checkpoint.pt": pt }, { ...info, step: 4 });
  await store.close();
  writeFileSync(`${home}/m.safetensors`, encodeSafetensors(weights(5)));
  writeFileSync(`${home}/m.pth`, encodePt({ state_dict: weights(6), epoch: 3 }));
  writeFileSync(`${home}/two.bin`, encodePt({ ema: weights(7), raw: weights(8) }));
  mkdirSync(`${home}/hub`);
  writeFileSync(`${home}/hub/pytorch_model-1.bin`, encodePt({ a: weights(1).w! }));
  writeFileSync(`${home}/hub/pytorch_model-2.bin`, encodePt({ w: weights(9).w! }));
  const index = { metadata: {}, weight_map: { a: "pytorch_model-1.bin", w: "pytorch_model-2.bin" } };
  writeFileSync(`${home}/hub/pytorch_model.bin.index.json`, JSON.stringify(index));
  mkdirSync(`${home}/shards`);
  writeFileSync(`${home}/shards/m-1.safetensors`, encodeSafetensors({ a: weights(1).w! }));
  writeFileSync(`${home}/shards/m-2.safetensors`, encodeSafetensors(weights(10)));
  const shards = { metadata: {}, weight_map: { a: "m-1.safetensors", w: "m-2.safetensors" } };
  writeFileSync(`${home}/shards/model.safetensors.index.json`, JSON.stringify(shards));
  mkdirSync(`${home}/empty`);
});

const value = async (...args: Parameters<typeof readWeights>): Promise<number> =>
  (await readWeights(...args)).w!.data[0]!;

test.each([
  ["a safetensors file", "m.safetensors", 5],
  ["a .pth file", "m.pth", 6],
  ["a sharded index", "shards/model.safetensors.index.json", 10],
  ["a directory with a sharded model", "shards", 10],
  ["a directory with sharded .bin files", "hub", 9],
  ["a checkpoint", "run/checkpoints/step-3", 3],
  ["a checkpoint with averaged weights", "run/checkpoints/step-2", 20.5],
  ["a checkpoint as .pt", "run/checkpoints/step-4", 4],
  ["a directory of checkpoints", "run/checkpoints", 4],
  ["a run", "run", 4],
])("reads %s", async (_name, path, expected) => {
  expect(await value(`${home}/${path}`)).toBe(expected);
});

test("arrays are as a trainer takes them", async () => {
  expect(await readWeights(`${home}/m.safetensors`)).toEqual({ w: { data: Float32Array.of(5, -5), shape: [2] } });
});

test("a part of a .pt file is chosen by its key", async () => {
  expect(await value(`${home}/two.bin`, { key: "raw" })).toBe(8);
  await expect(readWeights(`${home}/two.bin`)).rejects.toThrow('Say which part to take: "ema", "raw".');
  await expect(readWeights(`${home}/two.bin`, { key: "rwa" })).rejects.toThrow('it has no tensors under "rwa"');
});

describe("averaged weights", () => {
  const step2 = `${run}/checkpoints/step-2`;

  test("can be left aside, or named", async () => {
    expect(await value(step2, { averaged: false })).toBe(2);
    expect(await value(step2, { averaged: "ema" })).toBe(20.5);
    expect(await value(step2, { averaged: true })).toBe(20.5);
  });

  test("that are not there are an error only when asked for", async () => {
    await expect(readWeights(step2, { averaged: "swa" })).rejects.toThrow(
      "step-2: it has no averaged weights named `swa`. It has: ema.",
    );
    await expect(readWeights(`${run}/checkpoints/step-3`, { averaged: true })).rejects.toThrow("no averaged weights");
    await expect(readWeights(`${home}/m.pth`, { averaged: true })).rejects.toThrow("only checkpoints have averaged");
  });

  test("of several the user chooses", async () => {
    const store = await openDirectoryStore(`${home}/several`, { thread: false });
    const files = { "model-ema.safetensors": new Uint8Array(), "model-swa.safetensors": new Uint8Array() };
    await store.save("a", files, { step: 1, epoch: 0, reason: "last", metrics: {}, time: 1, runId: "r" });
    await store.close();
    await expect(readWeights(`${home}/several`)).rejects.toThrow(
      'it has several averaged weights (ema, swa). Choose: { averaged: "ema" }, or false for the model\'s own.',
    );
    await expect(readWeights(`${home}/several`, { averaged: false })).rejects.toThrow("it has no weights");
  });
});

describe("damage", () => {
  function copyOf(name: string): string {
    cpSync(run, `${home}/${name}`, { recursive: true });
    return `${home}/${name}`;
  }
  function flip(file: string): void {
    const bytes = readFileSync(file);
    bytes[bytes.length - 1]! ^= 1;
    writeFileSync(file, bytes);
  }

  test("in the newest checkpoints makes an older one stand in, with a warning", async () => {
    const copy = copyOf("damaged");
    rmSync(`${copy}/checkpoints/step-4/checkpoint.pt`);
    flip(`${copy}/checkpoints/step-3/model.safetensors`);
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    expect(await value(copy, { averaged: false })).toBe(2);
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn.mock.calls[0]![0]).toMatch(
      /the weights are those of step-2, since newer.*step-4\/checkpoint\.pt: it is missing.*step-3.*SHA-256/,
    );
    warn.mockRestore();
  });

  test("in the checkpoint that was named is an error, also in a copy beside an intact one", async () => {
    const copy = copyOf("named");
    cpSync(`${copy}/checkpoints/step-3`, `${copy}/checkpoints/mine`, { recursive: true });
    flip(`${copy}/checkpoints/mine/model.safetensors`);
    expect(await value(`${copy}/checkpoints/step-3`)).toBe(3);
    await expect(readWeights(`${copy}/checkpoints/mine`)).rejects.toThrow(
      /mine\/model\.safetensors: its SHA-256 is not the manifest's/,
    );
    appendFileSync(`${copy}/checkpoints/mine/manifest.json`, "x");
    await expect(readWeights(`${copy}/checkpoints/mine`)).rejects.toThrow("manifest.json: it is not valid JSON");
    rmSync(`${copy}/checkpoints/mine/manifest.json`);
    await expect(readWeights(`${copy}/checkpoints/mine`)).rejects.toThrow("manifest.json: it is missing");
  });

  test("of any bit in a file of a checkpoint is noticed, also when the file itself is named", async () => {
    const file = `${copyOf("bits")}/checkpoints/step-3/model.safetensors`;
    const bytes = readFileSync(file);
    expect(await value(file)).toBe(3);
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      bytes[bit >> 3]! ^= 1 << (bit & 7);
      writeFileSync(file, bytes);
      await expect(readWeights(file)).rejects.toThrow(/model\.safetensors: its SHA-256 is not the manifest's/);
      bytes[bit >> 3]! ^= 1 << (bit & 7);
    }
    expect((await inspectCheckpoint(file)).problems).toEqual([expect.stringContaining("its SHA-256")]);
    writeFileSync(file, bytes);
    expect(await value(file)).toBe(3);
  });

  test("of the manifest beside a named file is an error; another program's manifest.json is not", async () => {
    const copy = `${copyOf("beside")}/checkpoints/step-3`;
    appendFileSync(`${copy}/manifest.json`, "x");
    await expect(readWeights(`${copy}/model.safetensors`)).rejects.toThrow("manifest.json: it is not valid JSON");
    mkdirSync(`${home}/site`);
    writeFileSync(`${home}/site/manifest.json`, '{ "name": "A web page" }');
    cpSync(`${home}/m.safetensors`, `${home}/site/m.safetensors`);
    expect(await value(`${home}/site/m.safetensors`)).toBe(5);
  });

  test("in all checkpoints is an error that names them", async () => {
    const copy = copyOf("all");
    for (const step of [1, 2, 3]) rmSync(`${copy}/checkpoints/step-${step}/model.safetensors`);
    flip(`${copy}/checkpoints/step-4/checkpoint.pt`);
    await expect(readWeights(copy)).rejects.toThrow(/step-4\/checkpoint\.pt: its SHA-256/);
  });
});

test.each([
  ["m.safetensor", "m.safetensor: it does not exist. Check the path. Did you mean `m.safetensors`?"],
  ["run/checkpoints/step-33", "Did you mean `step-3`?"],
  ["empty", "it has no checkpoints in it. Give a run, a checkpoint, or a file that ends in .safetensors,"],
  ["run/checkpoints/step-1/state.json", "its ending does not say what it is. Files of tensors end in .safetensors"],
])("says what is wrong with %s", async (path, says) => {
  await expect(readWeights(`${home}/${path}`)).rejects.toThrow(CheckpointError);
  await expect(readWeights(`${home}/${path}`)).rejects.toThrow(says);
});

test.each([
  ["safetensors", "model.safetensors.index.json", "m-1.safetensors"],
  ["bin", "pytorch_model.bin.index.json", "m-1.bin"],
])("an index that names a pipe is refused: %s", async (kind, index, shard) => {
  const dir = `${home}/pipe-${kind}`;
  mkdirSync(dir);
  execFileSync("mkfifo", [`${dir}/${shard}`]);
  writeFileSync(`${dir}/${index}`, JSON.stringify({ metadata: {}, weight_map: { w: shard } }));
  await expect(readWeights(dir)).rejects.toThrow(`${dir}/${shard}: it is not a plain file`);
});

test("checks its options", async () => {
  await expect(readWeights(`${home}/m.pth`, { avraged: false } as object)).rejects.toThrow(OptionError);
  await expect(readWeights(3 as unknown as string)).rejects.toThrow("Expected `path` to be a non-empty string");
});
