// model.json: written by a trainer beside its first checkpoint, read back exactly, refused when damaged.
import { mkdtempSync, readFileSync, rmSync, existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { numpy as np } from "@jax-js/jax";
import fc from "fast-check";
import { CheckpointError, modelCheckpoint } from "hookline";
import * as nn from "hookline/nn";
import { tinyTrainer } from "hookline/testing";
import { startWasm } from "../../tests/support/gradcheck.ts";
import { LAYERS, RAW } from "../../tests/support/layer-zoo.ts";
import { Shared } from "../core/shared.ts";
import { initKey } from "../nn/key.ts";
import { pure } from "../nn/layer.ts";
import { fittedPreprocessor } from "../data/preprocess/fitted-preprocessor.ts";
import { captureProgram } from "./capture.ts";
import { readModelFile, writeModelFile, type ReadFile } from "./model-file.ts";
import type { ForwardProgram } from "./program.ts";
import { packProgram } from "./program-json.ts";
import { filesIn, readSavedModel } from "./saved-model.ts";

beforeAll(startWasm);
let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), "model-file-"))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe("a program that is written and read", () => {
  it.each(Object.entries({ ...LAYERS, ...RAW }))("%s", async (_, { model, batch }) => {
    const program = captureProgram(model, model.init(initKey(1)), batch(4));
    await writeModelFile(dir, { program });
    expect((await readModelFile(filesIn(dir), dir))!.program).toEqual(program);
  });
});

describe("a trainer", () => {
  it("writes it beside its first checkpoint", async () => {
    await using trainer = tinyTrainer({ runDir: dir, steps: 6, hooks: [modelCheckpoint({ every: 2 })] });
    await trainer.fit();
    const saved = await readSavedModel(dir);
    expect(saved.signature).toEqual({
      inputs: { x: { shape: [null, 3], dtype: "float32" } },
      outputs: { output: { shape: [null, 1], dtype: "float32" } },
    });
    expect(saved.weights).toEqual(await trainer.stateDict());
  });

  it("keeps the reason if the model cannot be captured, and trains on", async () => {
    const meanOfRows = pure((x) => x.ref.sub(x.mean(0, { keepdims: true })));
    const model = nn.sequential({ first: nn.linear(3, 1), centre: meanOfRows });
    await using trainer = tinyTrainer({ runDir: dir, steps: 2, model, hooks: [modelCheckpoint({ every: 2 })] });
    expect((await trainer.fit()).status).toBe("completed");
    const { program, reason } = (await readModelFile(filesIn(dir), dir))!;
    expect(program).toBeUndefined();
    expect(reason).toMatch(/depends on the number of rows in the primitive `mul` of layer `centre`/);
  });

  it("writes nothing without checkpoints", async () => {
    await using trainer = tinyTrainer({ runDir: dir, steps: 2 });
    await trainer.fit();
    expect(existsSync(join(dir, "model.json"))).toBe(false);
  });

  it("keeps the preprocessor of its experiment", async () => {
    const shared = new Shared();
    shared.set(fittedPreprocessor, { toJSON: () => ({ mean: [1, Number.NaN] }) } as never);
    await using trainer = tinyTrainer({ runDir: dir, steps: 1, shared, hooks: [modelCheckpoint({ every: 1 })] });
    await trainer.fit();
    expect((await readSavedModel(dir)).preprocessor).toEqual({ mean: [1, Number.NaN] });
  });
});

describe("large constants", () => {
  const table = np.array(
    Float32Array.from({ length: 5000 }, (_, i) => Math.sin(i)),
    { shape: [5, 1000] },
  );
  const model = pure((x) => np.matmul(x, table.ref)) as never;
  const program = (): ForwardProgram => captureProgram(model, {}, { x: { shape: [4, 5] } });

  it("are in a file of their own", async () => {
    await writeModelFile(dir, { program: program() });
    expect(readFileSync(join(dir, "model.json")).length).toBeLessThan(4000);
    expect((await readModelFile(filesIn(dir), dir))!.program).toEqual(program());
  });

  it("must be there", async () => {
    await writeModelFile(dir, { program: program() });
    rmSync(join(dir, "constants.safetensors"));
    await expect(readModelFile(filesIn(dir), dir)).rejects.toThrow(/constants\.safetensors: it is missing/);
  });
});

describe("a damaged file", () => {
  const { model, batch } = LAYERS.batchNorm!;
  const written = JSON.stringify({
    schema: "hookline.model",
    version: 1,
    program: packProgram(captureProgram(model, model.init(initKey(1)), batch(4))).json,
  });
  const reading = (text: string): ReadFile => {
    const bytes = new TextEncoder().encode(text);
    return (name) => Promise.resolve(name === "model.json" ? bytes : undefined);
  };

  it.each([
    ["{", /not valid JSON/],
    ["[]", /not the model of a run/],
    ['{"schema":"other"}', /not the model of a run/],
    ['{"schema":"hookline.model","version":99}', /newer hookline/],
    ['{"schema":"hookline.model","version":1,"program":7}', /program has program, which is no object/],
    [written.replace('"op":"add"', '"op":"constructor"'), /unknown operation `constructor`/],
    [written.replace('"dtype":"float32"', '"dtype":"float99"'), /of an unknown type/],
    [written.replace('"n"', '"nn"'), /with the shape/],
    [written.replace('"n"', "1e300"), /with the shape/],
    [written.replace('"of":', '"of":99'), /is not one of/],
  ])("%s", async (text, message) => {
    await expect(readModelFile(reading(text), "x")).rejects.toThrow(message);
  });

  it("never does anything but read or refuse, whatever is changed in it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(written.length - 1), fc.nat(8), fc.string({ maxLength: 6 }), async (at, cut, put) => {
        const text = written.slice(0, at) + put + written.slice(at + cut);
        try {
          await readModelFile(reading(text), "x");
        } catch (error) {
          expect(error).toBeInstanceOf(CheckpointError);
        }
      }),
      { numRuns: 300 },
    );
  });
});
