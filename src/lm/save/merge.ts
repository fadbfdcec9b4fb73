// The weights of a model with its adapter merged into them, one at a time, so that the whole is never in memory.
import { toHostArrays } from "../../checkpoint/formats/tensor-values.ts";
import type { HostArray } from "../../core/arrays.ts";
import type { HostTensors } from "../../core/model.ts";
import { HooklineError } from "../../core/errors.ts";
import type { Architecture } from "../config/architecture.ts";
import type { ModelParts } from "../model/language-model.ts";
import { type Adapter, loraScale, MAGNITUDE, SHORTEST_ROW } from "../model/lora.ts";
import { type Matrix, strides } from "../model/parameters.ts";

/** A tensor on the host in float32. */
export type ReadTensor = (name: string) => Promise<HostArray<Float32Array>>;

/** The model's own weights, before its adapter; `trained` are those that it trains. */
export function plainWeights({ weights }: ModelParts, trained: HostTensors): ReadTensor {
  return async (name) => {
    const own = trained[name];
    if (own) return own as HostArray<Float32Array>;
    const source = weights?.get(name);
    if (!source) throw new HooklineError(`saveModel: the model has no weights for \`${name}\`.`);
    return toHostArrays({ [name]: await source.read() }, name)[name] as HostArray<Float32Array>;
  };
}

/** The weights of the model without an adapter that computes the same. */
export function mergedWeights(architecture: Architecture, parts: ModelParts, trained: HostTensors): ReadTensor {
  const read = plainWeights(parts, trained);
  const { adapter } = parts;
  if (!adapter) return read;
  return async (name) => {
    const matrix = adapter.matrices.get(name.replace(/\.weight$/, ""));
    const weight = await read(name);
    return matrix && name.endsWith(".weight") ? merged(weight, matrix, name, adapter, trained, architecture) : weight;
  };
}

function merged(
  { data, shape }: HostArray<Float32Array>,
  matrix: Matrix,
  name: string,
  { config }: Adapter,
  trained: HostTensors,
  architecture: Architecture,
): HostArray<Float32Array> {
  const module = name.replace(/\.weight$/, "");
  const [a, b] = [trained[`${module}.lora_A.weight`]!.data, trained[`${module}.lora_B.weight`]!.data];
  const magnitude = trained[`${module}.${MAGNITUDE}`]?.data;
  const { inputs, outputs } = matrix;
  const { rank } = config;
  const scale = loraScale(config);
  const result = new Float32Array(data.length);
  const [rowStep, columnStep] = strides(architecture, matrix);
  const row = new Float64Array(inputs);
  for (let o = 0; o < outputs; o++) {
    row.fill(0);
    for (let r = 0; r < rank; r++) {
      const factor = scale * b[o * rank + r]!;
      for (let i = 0; i < inputs; i++) row[i]! += factor * a[r * inputs + i]!;
    }
    let squares = 0;
    for (let i = 0; i < inputs; i++) {
      row[i]! += data[o * rowStep + i * columnStep]!;
      squares += row[i]! ** 2;
    }
    const factor = magnitude ? magnitude[o]! / Math.max(Math.sqrt(squares), SHORTEST_ROW) : 1;
    for (let i = 0; i < inputs; i++) result[o * rowStep + i * columnStep] = factor * row[i]!;
  }
  return { data: result, shape };
}
