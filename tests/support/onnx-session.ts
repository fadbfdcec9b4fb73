// Runs an ONNX model in onnxruntime-node.
import ort from "onnxruntime-node";
import type { HostArray, HostTensors } from "hookline";
import { concat } from "../../src/core/protobuf.ts";

const NAMES: Readonly<Record<string, string>> = {
  Float32Array: "float32",
  Int32Array: "int32",
  Uint32Array: "uint32",
};

type MakeTensor<T> = new (type: "float32", data: Float32Array, dims: readonly number[]) => T;

/** The fields of a batch as tensors of a runtime. */
export const toTensors = <T>(Tensor: MakeTensor<T>, names: readonly string[], batch: HostTensors): Record<string, T> =>
  Object.fromEntries(
    names.map((name) => {
      const { data, shape } = batch[name]!;
      return [name, new Tensor(NAMES[data.constructor.name] as "float32", data as Float32Array, [...shape])];
    }),
  );

export async function onnxSession(parts: readonly Uint8Array[]) {
  const session = await ort.InferenceSession.create(concat(parts), { logSeverityLevel: 3 });
  return async (batch: HostTensors): Promise<Record<string, HostArray>> => {
    const results = await session.run(toTensors(ort.Tensor as MakeTensor<ort.Tensor>, session.inputNames, batch));
    return Object.fromEntries(
      Object.entries(results).map(([name, { data, dims }]) => [name, { data: data as Float32Array, shape: [...dims] }]),
    );
  };
}

/** Where numbers differ by more than `tolerance` of what they are, or of 1. */
export function outputDifferences(
  got: Readonly<Record<string, HostArray>>,
  expected: Readonly<Record<string, HostArray>>,
  tolerance: number,
): string[] {
  return Object.entries(expected).flatMap(([name, { data, shape }]) => {
    const own = got[name];
    if (own?.shape.join() !== shape.join()) return [`${name} has the shape ${own?.shape.join()}, not ${shape.join()}`];
    const at = Array.from(data).findIndex((value, i) => {
      const close = Math.abs(own.data[i]! - value) <= tolerance * Math.max(1, Math.abs(value));
      return !close && !Object.is(own.data[i], value);
    });
    return at < 0 ? [] : [`${name} is ${own.data[at]} at ${at}, not ${data[at]}`];
  });
}
