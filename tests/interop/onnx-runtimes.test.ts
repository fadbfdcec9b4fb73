// Exported models in other runtimes than onnxruntime-node: onnxruntime-web, as a page runs it, and Python's onnxruntime
// with the checker of onnx itself.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { HostArray } from "hookline";
import * as ort from "onnxruntime-web/wasm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { concat } from "../../src/core/protobuf.ts";
import { selectEngine } from "../../src/engines/select.ts";
import { captureProgram } from "../../src/export/capture.ts";
import { programToOnnx } from "../../src/export/onnx/program-to-onnx.ts";
import { initKey } from "../../src/nn/key.ts";
import { LAYERS, RAW } from "../support/layer-zoo.ts";
import { outputsOf } from "../support/model-outputs.ts";
import { outputDifferences, toTensors } from "../support/onnx-session.ts";

const ROWS = [1, 7];

interface Made {
  readonly name: string;
  readonly file: Uint8Array;
  readonly cases: readonly {
    readonly batch: Readonly<Record<string, HostArray>>;
    readonly expected: Readonly<Record<string, HostArray>>;
  }[];
}
const made: Made[] = [];

beforeAll(async () => {
  const engine = await selectEngine("wasm");
  for (const [name, { model, batch }] of Object.entries({ ...LAYERS, ...RAW })) {
    const params = model.init(initKey(5));
    const state = model.initState?.() ?? {};
    const program = captureProgram(model, params, batch(3));
    const cases: Made["cases"][number][] = [];
    for (const rows of ROWS)
      cases.push({ batch: batch(rows), expected: await outputsOf(engine, model, [params, state, batch(rows)]) });
    made.push({ name, file: concat(programToOnnx(program, { ...params, ...state })), cases });
  }
  await engine.close();
});

test("onnxruntime-web", async () => {
  ort.env.wasm.numThreads = 1;
  const found: string[] = [];
  for (const { name, file, cases } of made) {
    const session = await ort.InferenceSession.create(file, { logSeverityLevel: 3 });
    for (const { batch, expected } of cases) {
      const results = await session.run(toTensors(ort.Tensor, session.inputNames, batch));
      const got = Object.entries(results).map(([key, { data, dims }]) => [
        key,
        { data: data as Float32Array, shape: dims },
      ]);
      found.push(...outputDifferences(Object.fromEntries(got), expected, 1e-5).map((each) => `${name}: ${each}`));
    }
    await session.release();
  }
  expect(found).toEqual([]);
});

// Debian has neither package: pip install onnx onnxruntime.
const python = "python3";
const hasOnnx = spawnSync(python, ["-c", "import numpy, onnx, onnxruntime"]).status === 0;
if (!hasOnnx) console.warn("ONNX models are not checked in Python: pip install onnx onnxruntime");

const dir = mkdtempSync(join(tmpdir(), "onnx-runtimes-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test.skipIf(!hasOnnx)("Python's onnxruntime, and onnx.checker", () => {
  for (const [i, { name, file, cases }] of made.entries()) {
    const folder = join(dir, String(i).padStart(3, "0"));
    mkdirSync(folder);
    writeFileSync(join(folder, "model.onnx"), file);
    const plain = (arrays: Readonly<Record<string, HostArray>>): object =>
      Object.fromEntries(
        Object.entries(arrays).map(([key, { data, shape }]) => [
          key,
          { type: data.constructor.name.replace("Array", "").toLowerCase(), shape, data: Array.from(data) },
        ]),
      );
    const written = cases.map(({ batch, expected }) => ({ batch: plain(batch), expected: plain(expected) }));
    writeFileSync(join(folder, "cases.json"), JSON.stringify({ name, cases: written }));
  }
  const script = fileURLToPath(new URL("onnx-runtimes.py", import.meta.url));
  const { stdout, stderr, status } = spawnSync(python, [script, dir], { encoding: "utf8" });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  expect(stdout).toBe(`${made.length} models, 0 differences\n`);
});
