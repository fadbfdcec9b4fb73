// A captured program computes what its model computes, for every layer, on both engines, with any number of rows.
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LAYERS, RAW, type ZooModel } from "../../tests/support/layer-zoo.ts";
import { componentsIn } from "../core/component.ts";
import type { HostTensors, Model, Outputs, Tensors } from "../core/model.ts";
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

const put = (engine: Engine, host: HostTensors) =>
  Object.fromEntries(Object.entries(host).map(([name, array]) => [name, engine.put(array)]));

async function outputsOf(
  engine: Engine,
  model: Model<never>,
  params: HostTensors,
  state: HostTensors,
  batch: HostTensors,
) {
  const program = engine.jit((weights: Tensors, buffers: Tensors, fields: Tensors): Tensors => {
    const ctx = { train: false, key: undefined as never, state: buffers, loader: "predict" };
    const result = model.apply(weights, (fields.x ?? fields) as never, ctx);
    const outputs = model.initState ? (result as [Outputs, Tensors])[0] : (result as Outputs);
    return "dtype" in outputs ? { output: outputs as never } : outputs;
  });
  const results = await program(put(engine, params), put(engine, state), put(engine, batch));
  const read: Record<string, unknown> = {};
  for (const [name, buffer] of Object.entries(results))
    read[name] = { shape: [...buffer.shape], data: await engine.read(buffer) };
  return read;
}

/** Where the copy computes something else than the model: nowhere, it is hoped, to the last bit. */
async function differences({ model, batch }: ZooModel): Promise<string[]> {
  const params = model.init(initKey(3));
  const state = model.initState?.() ?? {};
  const copy = programModel(captureProgram(model, params, batch(4))) as Model<never>;
  const found: string[] = [];
  for (const engine of engines) {
    for (const rows of [1, 2, 7]) {
      const expected = await outputsOf(engine, model, params, state, batch(rows));
      const got = await outputsOf(engine, copy, params, state, batch(rows));
      if (!isDeepStrictEqual(got, expected)) found.push(`${engine.name}, ${rows} rows`);
    }
  }
  return found;
}

describe("the same numbers", () => {
  it.each(Object.entries({ ...LAYERS, ...RAW }))("%s", async (_, made) => {
    expect(await differences(made)).toEqual([]);
  });

  it("for every layer of hookline/nn", () => {
    const layers = Object.keys(componentsIn(nn, "model"));
    expect(layers.length).toBeGreaterThan(15);
    expect(layers.filter((name) => !(name in LAYERS))).toEqual([]);
  });
});
