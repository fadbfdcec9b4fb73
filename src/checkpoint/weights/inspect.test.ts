// What inspecting says of sound and of damaged checkpoints, and how it looks.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDirectoryStore } from "../stores/directory-store.ts";
import { encodePt } from "../formats/torch/pt.ts";
import { encodeSafetensors } from "../formats/safetensors.ts";
import type { FileTensor } from "../formats/tensor.ts";
import { describeCheckpoint, inspectCheckpoint } from "./inspect.ts";

const home = mkdtempSync(`${tmpdir()}/hookline-inspect-`);
afterAll(() => rmSync(home, { recursive: true, force: true }));

const zeros = (...shape: number[]): FileTensor => ({
  dtype: "F32",
  shape,
  bytes: new Uint8Array(4 * shape.reduce((a, b) => a * b, 1)),
});
const model = { "0.weight": zeros(20, 30), "0.bias": zeros(20) };
const run = `${home}/run`;

beforeAll(async () => {
  const store = await openDirectoryStore(`${run}/checkpoints`, { thread: false });
  const info = { epoch: 1, metrics: { "eval/loss": 0.25 }, time: Date.UTC(2025, 0, 2), runId: "r" } as const;
  const files = {
    "model.safetensors": encodeSafetensors(model),
    "optimizer.safetensors": encodeSafetensors({ "exp_avg/0.weight": zeros(20, 30) }),
    "state.json": new TextEncoder().encode("{}"),
  };
  await store.save("step-1", files, { ...info, step: 1, reason: "interval" });
  await store.save("step-2", files, { ...info, step: 2, reason: "best" });
  await store.close();
});

let count = 0;
function damaged(damage: (newest: string) => void): string {
  const copy = `${home}/${++count}`;
  cpSync(run, copy, { recursive: true });
  damage(`${copy}/checkpoints/step-2`);
  return copy;
}
function flip(file: string): void {
  const bytes = readFileSync(file);
  bytes[bytes.length - 9]! ^= 1;
  writeFileSync(file, bytes);
}

test("a run: its newest checkpoint", async () => {
  const info = await inspectCheckpoint(run);
  expect(info).toMatchObject({
    path: `${run}/checkpoints/step-2`,
    kind: "checkpoint",
    valid: true,
    problems: [],
    skipped: [],
    step: 2,
    epoch: 1,
    reason: "best",
    metrics: { "eval/loss": 0.25 },
    time: Date.UTC(2025, 0, 2),
    parameters: 620,
  });
  expect(info.files.map(({ name }) => name)).toEqual([
    "manifest.json",
    "model.safetensors",
    "optimizer.safetensors",
    "state.json",
  ]);
  expect(info.bytes).toBe(info.files.reduce((sum, { bytes }) => sum + bytes, 0));
  expect(info.tensors).toEqual([
    { file: "model.safetensors", name: "0.bias", dtype: "F32", shape: [20], bytes: 80 },
    { file: "model.safetensors", name: "0.weight", dtype: "F32", shape: [20, 30], bytes: 2400 },
    { file: "optimizer.safetensors", name: "exp_avg/0.weight", dtype: "F32", shape: [20, 30], bytes: 2400 },
  ]);
});

describe("damage is told, not thrown", () => {
  const cases: [string, (dir: string) => void, RegExp, number][] = [
    ["a flipped bit", (dir) => flip(`${dir}/model.safetensors`), /model\.safetensors: its SHA-256/, 620],
    [
      "a cut file",
      (dir) => truncateSync(`${dir}/model.safetensors`, 50),
      /model\.safetensors: it has 50 bytes inst/,
      0,
    ],
    ["a lost file", (dir) => rmSync(`${dir}/optimizer.safetensors`), /optimizer\.safetensors: it is missing/, 620],
    ["a lost manifest", (dir) => rmSync(`${dir}/manifest.json`), /manifest\.json: it is missing/, 620],
    [
      "a broken manifest",
      (dir) => truncateSync(`${dir}/manifest.json`, 20),
      /manifest\.json: it is not valid JSON/,
      620,
    ],
    [
      "a manifest that was changed",
      (dir) => {
        const text = readFileSync(`${dir}/manifest.json`, "utf8");
        writeFileSync(`${dir}/manifest.json`, text.replace("0.25", "0.05"));
      },
      /manifest\.json: its digest does not fit/,
      620,
    ],
  ];
  test.each(cases)("%s", async (_name, damage, problem, parameters) => {
    const copy = damaged(damage);
    const info = await inspectCheckpoint(`${copy}/checkpoints/step-2`);
    expect(info).toMatchObject({ valid: false, parameters, path: `${copy}/checkpoints/step-2` });
    expect(info.problems).toHaveLength(1);
    expect(info.problems[0]).toMatch(problem);
    expect(describeCheckpoint(info)).toContain(`DAMAGED`);
    // Of the run, the one before it, and what was passed over.
    const newest = await inspectCheckpoint(copy);
    expect(newest).toMatchObject({ valid: true, step: 1, skipped: [{ name: "step-2" }] });
    expect(`${newest.skipped[0]!.file}: ${newest.skipped[0]!.reason}`).toMatch(problem);
  });

  test("every damaged file of a checkpoint", async () => {
    const copy = damaged((dir) => {
      flip(`${dir}/model.safetensors`);
      rmSync(`${dir}/state.json`);
    });
    expect((await inspectCheckpoint(`${copy}/checkpoints/step-2`)).problems).toHaveLength(2);
  });

  test("a run without any intact checkpoint", async () => {
    const copy = damaged((dir) => flip(`${dir}/model.safetensors`));
    flip(`${copy}/checkpoints/step-1/model.safetensors`);
    expect(await inspectCheckpoint(copy)).toMatchObject({ valid: false, step: 2 });
    for (const step of [1, 2]) rmSync(`${copy}/checkpoints/step-${step}/model.safetensors`);
    const info = await inspectCheckpoint(copy);
    expect(info).toMatchObject({ valid: false, path: `${copy}/checkpoints` });
    expect(info.problems[0]).toMatch(/no intact checkpoint \(.*step-2.*step-1/);
  });

  test("only where it is looked for", async () => {
    const copy = damaged((dir) => flip(`${dir}/model.safetensors`));
    expect((await inspectCheckpoint(`${copy}/checkpoints/step-2`, { verifyDigests: false })).valid).toBe(true);
  });
});

describe("files", () => {
  test("a .pt file, tensor by tensor", async () => {
    const optimizer = { state: new Map([[0, { exp_avg: zeros(20, 30) }]]), param_groups: [{ lr: 1 }] };
    writeFileSync(`${home}/c.pt`, encodePt({ model, optimizer }));
    const info = await inspectCheckpoint(`${home}/c.pt`);
    expect(info).toMatchObject({ kind: "pt", valid: true, parameters: 620 });
    expect(info.tensors.map(({ name }) => name)).toEqual([
      "model.0.weight",
      "model.0.bias",
      "optimizer.state.0.exp_avg",
    ]);
    writeFileSync(`${home}/c.pt`, readFileSync(`${home}/c.pt`).subarray(0, 900));
    const cut = await inspectCheckpoint(`${home}/c.pt`);
    expect(cut).toMatchObject({ valid: false, files: [{ name: "c.pt", bytes: 900 }] });
    expect(cut.problems[0]).toMatch(/c\.pt: it does not end as a zip file does/);
  });

  test("an index with its shards, and without one of them", async () => {
    mkdirSync(`${home}/hub`);
    const shards = ["model-1.safetensors", "model-2.safetensors"];
    Object.entries(model).forEach(([name, tensor], i) =>
      writeFileSync(`${home}/hub/${shards[i]}`, encodeSafetensors({ [name]: tensor })),
    );
    const weightMap = Object.fromEntries(Object.keys(model).map((name, i) => [name, shards[i]]));
    writeFileSync(`${home}/hub/model.safetensors.index.json`, JSON.stringify({ weight_map: weightMap }));
    const info = await inspectCheckpoint(`${home}/hub`);
    expect(info).toMatchObject({ kind: "safetensors-index", valid: true, parameters: 620 });
    expect(info.files).toHaveLength(3);
    rmSync(`${home}/hub/model-2.safetensors`);
    expect((await inspectCheckpoint(`${home}/hub`)).problems[0]).toMatch(/model-2\.safetensors: it does not exist/);
  });

  test("a path that leads nowhere is an error", async () => {
    await expect(inspectCheckpoint(`${home}/rum`)).rejects.toThrow("Did you mean `run`?");
    mkdirSync(`${home}/nothing`);
    await expect(inspectCheckpoint(`${home}/nothing`)).rejects.toThrow("it has no checkpoints in it");
  });
});

test("it looks like this", async () => {
  const info = await inspectCheckpoint(run);
  const text = describeCheckpoint({ ...info, path: "run", files: info.files.slice(1), bytes: 6000 });
  expect(text).toBe(`run: checkpoint, valid
step 2, epoch 2, saved for best, 2025-01-02T00:00:00.000Z
metrics: eval/loss 0.25
620 parameters, 6.00 kB in 3 files

  file                      size
  model.safetensors      2.62 kB
  optimizer.safetensors  2.49 kB
  state.json                 2 B

  model.safetensors  type  shape        size
  0.bias             F32   [20]         80 B
  0.weight           F32   [20, 30]  2.40 kB

  optimizer.safetensors  type  shape        size
  exp_avg/0.weight       F32   [20, 30]  2.40 kB`);
});

test("the version that wrote a checkpoint is shown where it is recorded", async () => {
  const info = await inspectCheckpoint(run);
  expect(info).not.toHaveProperty("hookline");
  expect(describeCheckpoint({ ...info, hookline: "1.2.3" })).toContain("2025-01-02T00:00:00.000Z, by hookline 1.2.3\n");
});

test("what is printed cannot steer a terminal", async () => {
  const name = `\u001b[2J\u202e${"x".repeat(500)}`;
  writeFileSync(`${home}/steer.safetensors`, encodeSafetensors({ [name]: zeros(1) }));
  const text = describeCheckpoint(await inspectCheckpoint(`${home}/steer.safetensors`));
  expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(text).toMatch(/\\u001b\[2J\\u202ex+… /);
  expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThan(200);
});

test("it does not list thousands of tensors", async () => {
  const many = Object.fromEntries(Array.from({ length: 1500 }, (_, i) => [`t${i}`, zeros(1)]));
  writeFileSync(`${home}/many.safetensors`, encodeSafetensors(many));
  const info = await inspectCheckpoint(`${home}/many.safetensors`);
  expect(info.tensors).toHaveLength(1500);
  expect(describeCheckpoint(info)).toMatch(/… and 1,400 more, 5\.60 kB$/);
});
