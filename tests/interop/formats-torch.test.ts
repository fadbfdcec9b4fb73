// Files cross between PyTorch and here in both directions. Other versions of PyTorch: see the top of formats-torch.py.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rawValues, toHostArrays } from "../../src/checkpoint/formats/tensor-values.ts";
import { decodePt } from "../../src/checkpoint/formats/torch/pt.ts";
import { decodeSafetensors } from "../../src/checkpoint/formats/safetensors.ts";
import { matchTensors, renameTensors } from "../../src/checkpoint/formats/state-dict.ts";
import type { FileTensor, FileTensors } from "../../src/checkpoint/formats/tensor.ts";
import { maxError } from "../support/gradcheck.ts";
import { models, outputsOf, weightsOf } from "./formats-models.ts";
import { writeOurs } from "./formats-write.ts";
import { stateDictIn } from "../../src/checkpoint/formats/torch/torch-checkpoint.ts";

const python = "/usr/bin/python3";
const env = { ...process.env, OMP_NUM_THREADS: "1" };
/** A folder in which another machine's PyTorch has done its part. */
const done = process.env.HOOKLINE_FORMATS;
const present = done !== undefined || spawnSync(python, ["-c", "import torch"], { env }).status === 0;
if (!present) console.warn("files of PyTorch are skipped: apt-get install python3-torch");

interface Answers {
  readonly full: { weights: Record<string, number[]>; exp_avg: number[]; lr: number; rng: number[] };
  readonly views: Record<string, { shape: number[]; data: number[] }>;
  readonly [model: string]: unknown;
}

interface Full {
  readonly optimizer: {
    state: ReadonlyMap<number, Record<string, FileTensor>>;
    param_groups: readonly Record<string, unknown>[];
  };
  readonly rng: FileTensor;
  readonly parameter: FileTensor;
}

const numbers = (tensor: FileTensor): number[] => Array.from(toHostArrays({ t: tensor }, "t").t!.data);

describe.skipIf(!present)("files from and for PyTorch", () => {
  let folder = "";
  let answers: Answers;
  let output = "";
  const theirs = (name: string): Uint8Array => readFileSync(join(folder, "theirs", name));
  const has = (name: string): boolean => existsSync(join(folder, "theirs", name));
  const readPt = (name: string) => decodePt(theirs(name), name);

  beforeAll(async () => {
    folder = done ?? mkdtempSync(join(tmpdir(), "formats-"));
    if (done === undefined) {
      await writeOurs(folder);
      const script = fileURLToPath(new URL("./formats-torch.py", import.meta.url));
      const run = spawnSync(python, ["-W", "ignore", script, folder], { env, encoding: "utf8" });
      if (run.status !== 0) throw new Error(run.stdout + run.stderr);
      output = run.stdout;
    }
    answers = JSON.parse(readFileSync(join(folder, "theirs", "answers.json"), "utf8")) as Answers;
  });
  afterAll(() => {
    if (done === undefined) rmSync(folder, { recursive: true, force: true });
  });

  it.skipIf(done !== undefined)("PyTorch reads all of ours: weights, outputs, types, full checkpoints", () => {
    const checks = output.split("\n").filter((line) => line.startsWith("ok: "));
    expect(checks.length, output).toBeGreaterThanOrEqual(10);
    expect(output).toMatch(/all good\n$/);
  });

  it.each(Object.keys(models))("a state dict of PyTorch's gives the same outputs here: %s", async (name) => {
    const own = weightsOf(models[name]!);
    const files: [string, FileTensors][] = [[`${name}.pt`, stateDictIn(readPt(`${name}.pt`), name)]];
    if (has(`${name}.safetensors`))
      files.push([name, decodeSafetensors(theirs(`${name}.safetensors`), `${name}.safetensors`).tensors]);
    for (const [file, tensors] of files) {
      const weights = toHostArrays(matchTensors(tensors, own, {}, file).tensors, file);
      const outputs = await outputsOf(models[name]!, weights);
      expect(maxError(outputs, answers[name] as number[]), file).toBeLessThan(1e-5);
    }
  });

  it("a full checkpoint with optimizer, schedule and the rest", () => {
    const full = readPt("full.pt");
    const weights = renameTensors(stateDictIn(full, "full.pt", "state_dict"), { prefix: "module." });
    expect(Object.fromEntries(Object.entries(weights).map(([k, v]) => [k, numbers(v)]))).toEqual(answers.full.weights);
    expect(full).toMatchObject({
      epoch: 3,
      seed: 3n + 2n ** 63n,
      device: "cuda:1",
      dtype: "torch.bfloat16",
      size: [2, 3],
      raw: Uint8Array.of(0, 255, 97, 98),
      schedule: {
        last_epoch: 3,
        milestones: new Map([
          [1, 1],
          [2, 1],
        ]),
      },
    });
    const { optimizer, rng, parameter } = full as unknown as Full;
    expect([...optimizer.state.keys()]).toEqual([0, 1, 2, 3, 4, 5]);
    expect(numbers(optimizer.state.get(0)!.exp_avg!)).toEqual(answers.full.exp_avg);
    expect(optimizer.param_groups[0]).toMatchObject({
      lr: answers.full.lr,
      betas: [0.9, 0.999],
      params: [0, 1, 2, 3, 4, 5],
    });
    expect(numbers(rng)).toEqual(answers.full.rng);
    expect(numbers(parameter)).toEqual([1, 1]);
    expect((full as { names: string[] }).names.toSorted()).toEqual(["a", "b"]);
  });

  it("views become contiguous", () => {
    const views = stateDictIn(readPt("views.pt"), "views.pt");
    const found = Object.entries(views).map(([name, tensor]) => [name, { shape: tensor.shape, data: numbers(tensor) }]);
    expect(Object.fromEntries(found)).toEqual(answers.views);
    expect(views.tied!.bytes.buffer).toBe(views["tied again"]!.bytes.buffer);
  });

  it("every element type", () => {
    const ours = stateDictIn(decodePt(readFileSync(join(folder, "ours", "types.pt")), "ours"), "ours");
    expect(stateDictIn(readPt("types.pt"), "types.pt")).toEqual(ours);
    if (has("types.safetensors")) expect(decodeSafetensors(theirs("types.safetensors"), "t").tensors).toEqual(ours);
    if (has("new-types.pt")) {
      const types = stateDictIn(readPt("new-types.pt"), "new-types.pt");
      expect(rawValues(types.uint64!)).toEqual(BigUint64Array.of(2n ** 64n - 1n));
      expect(rawValues(types.float8_e4m3fn!)).toEqual(Uint8Array.of(0x38));
    }
  });

  it("what a GPU saved", ({ skip }) => {
    if (!has("gpu.pt")) skip("written only where PyTorch has a GPU");
    const { weight, half } = stateDictIn(readPt("gpu.pt"), "gpu.pt");
    expect(numbers(weight!)).toEqual([0, 3, 1, 4, 2, 5]);
    expect(numbers(half!)).toEqual([1, 1, 1]);
  });
});
