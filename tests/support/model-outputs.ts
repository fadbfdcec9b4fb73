// The outputs of a model on a batch, by name, from an engine.
import type { HostArray, HostTensors, Model, Outputs, Tensors } from "hookline";
import { isTensor } from "../../src/core/model.ts";
import type { Engine } from "../../src/engines/engine.ts";

const put = (engine: Engine, host: HostTensors) =>
  Object.fromEntries(Object.entries(host).map(([name, array]) => [name, engine.put(array)]));

/** A model that returns one array has the output `output`. */
export async function outputsOf(
  engine: Engine,
  model: Model<never>,
  [params, state, batch]: readonly [params: HostTensors, state: HostTensors, batch: HostTensors],
): Promise<Record<string, HostArray>> {
  const program = engine.jit((weights: Tensors, buffers: Tensors, fields: Tensors): Tensors => {
    const ctx = { train: false, key: undefined as never, state: buffers, loader: "predict" };
    const result = model.apply(weights, (fields.x ?? fields) as never, ctx);
    const outputs = model.initState ? (result as [Outputs, Tensors])[0] : (result as Outputs);
    return isTensor(outputs) ? { output: outputs } : outputs;
  });
  const results = await program(put(engine, params), put(engine, state), put(engine, batch));
  const read: Record<string, HostArray> = {};
  for (const [name, buffer] of Object.entries(results))
    read[name] = { shape: [...buffer.shape], data: await engine.read(buffer) };
  return read;
}
