// Joining the outputs of many batches along the first dimension.
import { isHostArray, type HostArray, type TypedArray } from "../core/arrays.ts";
import type { HostTensors } from "../core/model.ts";

function joinArrays(parts: readonly HostArray[]): HostArray {
  const first = parts[0]!;
  const Type = first.data.constructor as new (length: number) => TypedArray;
  const data = new Type(parts.reduce((sum, part) => sum + part.data.length, 0));
  let at = 0;
  for (const part of parts) {
    data.set(part.data, at);
    at += part.data.length;
  }
  const rows = parts.reduce((sum, part) => sum + (part.shape[0] ?? 1), 0);
  return { data, shape: [rows, ...first.shape.slice(1)] };
}

/** The outputs of at least one batch as one: an array when the model returns one, by name when it returns several. */
export function joinOutputs(parts: readonly (HostArray | HostTensors)[]): HostArray | HostTensors {
  const first = parts[0]!;
  if (isHostArray(first)) return joinArrays(parts as readonly HostArray[]);
  const names = Object.keys(first);
  return Object.fromEntries(names.map((name) => [name, joinArrays(parts.map((part) => (part as HostTensors)[name]!))]));
}
