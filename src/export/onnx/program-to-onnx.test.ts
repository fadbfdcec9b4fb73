// An exported ONNX model computes what the model computes, in onnxruntime, with any number of rows.
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { randomModel } from "../../../tests/support/random-model.ts";
import { LAYERS, NOT_IN_ONNX, RAW, type ZooModel } from "../../../tests/support/layer-zoo.ts";
import { outputsOf } from "../../../tests/support/model-outputs.ts";
import { onnxSession, outputDifferences } from "../../../tests/support/onnx-session.ts";
import { sizeOf, type HostArray } from "../../core/arrays.ts";
import type { HostTensors } from "../../core/model.ts";
import type { Engine } from "../../engines/engine.ts";
import { selectEngine } from "../../engines/select.ts";
import { sequential } from "../../nn/block.ts";
import { initKey } from "../../nn/key.ts";
import { captureProgram } from "../capture.ts";
import { OPERATIONS } from "../program.ts";
import { OPERATORS } from "./operators.ts";
import { programToOnnx } from "./program-to-onnx.ts";

let engine: Engine;
beforeAll(async () => void (engine = await selectEngine("wasm")));
afterAll(() => engine.close());

async function differences({ model, batch }: ZooModel): Promise<string[]> {
  const params = model.init(initKey(3));
  const state = model.initState?.() ?? {};
  const run = await onnxSession(programToOnnx(captureProgram(model, params, batch(4)), { ...params, ...state }));
  const found: string[] = [];
  for (const rows of [1, 2, 7, 64]) {
    const expected = await outputsOf(engine, model, [params, state, batch(rows)]);
    const own = outputDifferences(await run(batch(rows)), expected, 1e-5);
    found.push(...own.map((each) => `${rows} rows: ${each}`));
  }
  return found;
}

describe("the same numbers", () => {
  it.each(Object.entries({ ...LAYERS, ...RAW }))("%s", async (_, made) => {
    expect(await differences(made)).toEqual([]);
  });

  it("of models made at random", async () => {
    const seeds = Array.from({ length: 25 }, (_, i) => 4000 + i);
    for (const seed of seeds) {
      const { model, data, outline } = randomModel(seed);
      const batch = (rows: number): HostTensors => ({ x: firstRows(data.x, rows) });
      expect(await differences({ model, batch }), `${seed}: ${outline}`).toEqual([]);
    }
  });
});

describe("what ONNX has not", () => {
  it.each(Object.entries(NOT_IN_ONNX))("%s", (op, { model, batch }) => {
    const named = sequential({ here: model as never });
    const program = captureProgram(named, {}, batch(4));
    expect(() => programToOnnx(program, {})).toThrow(
      `Cannot export to ONNX: layer \`here\` has the operation \`${op}\`, which ONNX does not have. Use --format hookline`,
    );
  });
});

test("docs/export.md says what each operation becomes", () => {
  const page = readFileSync(new URL("../../../docs/export.md", import.meta.url), "utf8");
  const rows = Object.entries(OPERATORS).map(
    ([op, { onnx }]) => `| \`${op}\` | ${onnx.map((name) => `\`${name}\``).join(", ")} |`,
  );
  const table = page.slice(page.indexOf("| operation | ONNX |"));
  expect(table.split("\n").slice(2, 2 + rows.length)).toEqual(rows);
  expect(Object.keys(OPERATORS).filter((op) => !OPERATIONS.has(op))).toEqual([]);
});

/** Of an array with fewer rows, again from the first. */
function firstRows({ data, shape }: HostArray, rows: number): HostArray {
  const size = sizeOf(shape.slice(1));
  const Type = data.constructor as Float32ArrayConstructor;
  return {
    data: Type.from({ length: rows * size }, (_, i) => data[i % data.length]!),
    shape: [rows, ...shape.slice(1)],
  };
}
