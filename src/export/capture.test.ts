// A captured program computes what its model computes, for every layer, on both engines, with any number of rows.
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LAYERS, NOT_IN_ONNX, RAW, type ZooModel } from "../../tests/support/layer-zoo.ts";
import { outputsOf } from "../../tests/support/model-outputs.ts";
import { componentsIn } from "../core/component.ts";
import type { Model } from "../core/model.ts";
import type { Engine } from "../engines/engine.ts";
import { selectEngine } from "../engines/select.ts";
import * as nn from "../nn/index.ts";
import { initKey } from "../nn/key.ts";
import { captureProgram } from "./capture.ts";
import { programModel } from "./interpret.ts";

const engines: Engine[] = [];
beforeAll(async () => {
  for (const name of ["wasm", "native"] as const) engines.push(await selectEngine(name));
});
afterAll(async () => {
  for (const engine of engines) await engine.close();
});

/** Where the copy computes something else than the model: nowhere, it is hoped, to the last bit. */
async function differences({ model, batch }: ZooModel): Promise<string[]> {
  const params = model.init(initKey(3));
  const state = model.initState?.() ?? {};
  const copy = programModel(captureProgram(model, params, batch(4))) as Model<never>;
  const found: string[] = [];
  for (const engine of engines) {
    for (const rows of [1, 2, 7]) {
      const expected = await outputsOf(engine, model, [params, state, batch(rows)]);
      const got = await outputsOf(engine, copy, [params, state, batch(rows)]);
      if (!isDeepStrictEqual(got, expected)) found.push(`${engine.name}, ${rows} rows`);
    }
  }
  return found;
}

describe("the same numbers", () => {
  it.each(Object.entries({ ...LAYERS, ...RAW, ...NOT_IN_ONNX }))("%s", async (_, made) => {
    expect(await differences(made)).toEqual([]);
  });

  it("for every layer of hookline/nn", () => {
    const layers = Object.keys(componentsIn(nn, "model"));
    expect(layers.length).toBeGreaterThan(15);
    expect(layers.filter((name) => !(name in LAYERS))).toEqual([]);
  });
});
