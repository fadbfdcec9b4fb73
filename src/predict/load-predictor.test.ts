// Predictors from files: the best weights of a run, a checkpoint, an exported folder on a disk and at an address.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { encodeSafetensors } from "../checkpoint/formats/safetensors.ts";
import { fromHostArrays } from "../checkpoint/formats/tensor-values.ts";
import { readWeights } from "../checkpoint/weights/read-weights.ts";
import { convertCheckpoint } from "../checkpoint/weights/write-weights.ts";
import type { HostTensors, Model } from "../core/model.ts";
import { modelCheckpoint } from "../hooks/model-checkpoint/model-checkpoint.ts";
import { batchNorm } from "../nn/norms.ts";
import { linear } from "../nn/basic.ts";
import { sequential } from "../nn/block.ts";
import { testEngine, tinyData, tinyTrainer } from "../testing/tiny.ts";
import { DataLoader } from "../data/data-loader.ts";
import { loadPredictor } from "./load-predictor.ts";
import type { LoadProgress } from "./model-source.ts";

import type { Predictor } from "./types.ts";

const home = mkdtempSync(join(tmpdir(), "hookline-predict-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const runDir = join(home, "run");
const exported = join(home, "exported");
const engine = testEngine();
const model = (): Model => sequential(linear(3, 4), batchNorm(4), linear(4, 1));
const { x } = tinyData(4, 9);
const rows = Array.from({ length: 4 }, (_, i) => ({ x: x.data.subarray(3 * i, 3 * i + 3) }));
const outputs = async (predict: Predictor): Promise<number[]> =>
  (await predict(rows)).flatMap(({ output }) => [...(output as Float32Array)]);
/** What a trainer computes with these weights. */
async function expected(weights: HostTensors): Promise<number[]> {
  await using trainer = tinyTrainer({ model: model() });
  await trainer.loadStateDict(weights);
  const { data } = (await trainer.predict(new DataLoader({ x }, { batchSize: 4 }))) as { data: Float32Array };
  return [...data];
}
const close = (a: readonly number[], b: readonly number[]): void => {
  expect(a).toHaveLength(b.length);
  a.forEach((value, i) => expect(value).toBeCloseTo(b[i]!, 5));
};

let [best, last] = ["", ""];
beforeAll(async () => {
  // The learning rate ruins the weights in the last epoch: the best checkpoint is not the last.
  const validation = new DataLoader(tinyData(8, 2), { batchSize: 8 });
  await using trainer = tinyTrainer({
    model: model(),
    runDir,
    epochs: 4,
    eval: validation,
    hooks: [
      modelCheckpoint({ monitor: "val/loss", saveTopK: 4 }),
      { name: "ruin", onEpochBegin: (ctx) => void (ctx.epoch === 3 && ctx.setLr(0.4)) },
    ],
  });
  await trainer.fit();
  const names = readdirSync(join(runDir, "checkpoints")).filter((name) => name.startsWith("step"));
  const loss = (name: string): number => {
    const text = readFileSync(join(runDir, "checkpoints", name, "manifest.json"), "utf8");
    return Number(/"(?:val|eval)\/loss": ?([^,}\s]+)/.exec(text)![1]);
  };
  const sorted = names.toSorted((a, b) => loss(a) - loss(b));
  [best, last] = [sorted[0]!, names.toSorted().at(-1)!];
  mkdirSync(exported);
  for (const file of ["model.json"]) cpSync(join(runDir, file), join(exported, file));
  const weights = await readWeights(join(runDir, "checkpoints", best));
  writeFileSync(join(exported, "weights.safetensors"), encodeSafetensors(fromHostArrays(weights)));
});

test("a run gives its best weights; the last, or a named checkpoint, only when asked for", async () => {
  expect(best).not.toBe(last);
  for (const [checkpoint, name] of [
    [undefined, best],
    ["best", best],
    ["last", last],
    [last, last],
  ] as const) {
    await using predict = await loadPredictor(runDir, { engine, ...(checkpoint !== undefined && { checkpoint }) });
    close(await outputs(predict), await expected(await readWeights(join(runDir, "checkpoints", name))));
    expect(predict.source).toContain(name);
  }
});

test("readWeights and convertCheckpoint take the best of a run too, unless told otherwise", async () => {
  const of = (name: string): Promise<HostTensors> => readWeights(join(runDir, "checkpoints", name));
  expect(await readWeights(runDir)).toEqual(await of(best));
  expect(await readWeights(join(runDir, "checkpoints"))).toEqual(await of(best));
  expect(await readWeights(runDir, { checkpoint: "last" })).toEqual(await of(last));
  expect(await readWeights(runDir, { checkpoint: last })).toEqual(await of(last));
  await convertCheckpoint(runDir, join(home, "best.safetensors"));
  await convertCheckpoint(runDir, join(home, "last.safetensors"), { checkpoint: "last" });
  expect(await readWeights(join(home, "best.safetensors"))).toEqual(await of(best));
  expect(await readWeights(join(home, "last.safetensors"))).toEqual(await of(last));
  await expect(readWeights(join(runDir, "checkpoints", best), { checkpoint: "last" })).rejects.toThrow(
    "only runs have several checkpoints. Leave out `checkpoint`.",
  );
});

test("a checkpoint, an exported folder and the model's code give the same", async () => {
  const weights = await readWeights(join(runDir, "checkpoints", best));
  const own = await expected(weights);
  const old = join(home, "old");
  cpSync(runDir, old, { recursive: true });
  rmSync(join(old, "model.json"));
  for (const [from, options] of [
    [join(runDir, "checkpoints", best), {}],
    [exported, {}],
    [old, { model: model() }],
  ] as const) {
    await using predict = await loadPredictor(from, { engine, ...options });
    close(await outputs(predict), own);
  }
  await expect(loadPredictor(old, { engine })).rejects.toThrow(
    "Give the model's code: loadPredictor(path, { model }).",
  );
  const other = linear(3, 2);
  await expect(loadPredictor(old, { engine, model: other })).rejects.toThrow("which the model does not");
});

test("an exported folder at an address, with progress", async () => {
  const server = createServer((request, response) => {
    const file = join(exported, request.url!.replace("/models/tiny/", ""));
    if (!existsSync(file)) return void response.writeHead(404).end();
    const bytes = readFileSync(file);
    return void response.writeHead(200, { "content-length": bytes.length }).end(bytes);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const seen = new Map<string, LoadProgress>();
  const onProgress = (progress: LoadProgress): void => void seen.set(progress.file, progress);
  for (const from of [`${address}/models/tiny`, new URL(`${address}/models/tiny/`)]) {
    await using predict = await loadPredictor(from, { engine: "wasm", onProgress });
    close(await outputs(predict), await expected(await readWeights(join(runDir, "checkpoints", best))));
  }
  const { loaded, total } = seen.get("weights.safetensors")!;
  expect([loaded, total]).toEqual(Array(2).fill(readFileSync(join(exported, "weights.safetensors")).length));
  await expect(loadPredictor(`${address}/models/none`)).rejects.toThrow("there is no such file");
  await new Promise((resolve) => server.close(resolve));
  await expect(loadPredictor(`${address}/models/tiny`)).rejects.toThrow("it cannot be fetched");
});

test.each<[string, unknown, object, string]>([
  ["a path that is not there", join(home, "rum"), {}, "it does not exist. Check the path. Did you mean `run`?"],
  ["no path", 3, {}, "loadPredictor: expected a path, a URL or a FileSystemDirectoryHandle, got `3` (number)."],
  ["a misspelled option", runDir, { enigne: "wasm" }, "Did you mean `engine`?"],
  ["an unknown checkpoint", runDir, { checkpoint: "bets" }, "has no checkpoint `bets`."],
  ["sizes that are none", runDir, { batchSizes: [0] }, "Expected `batchSizes` to be a list of whole numbers ≥ 1"],
])("%s is an error", async (_name, from, options, message) => {
  await expect(loadPredictor(from as string, options)).rejects.toThrow(message);
});
