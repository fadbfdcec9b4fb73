// The outputs of consecutive batches, joined.
import { type HostArray, isHostArray, isTypedArray, joinArrays, type TypedArray } from "../core/arrays.ts";
import type { PredictedColumn, PredictionColumns } from "./types.ts";

export function joinColumns(parts: readonly PredictionColumns[]): PredictionColumns {
  const [first = {}] = parts;
  if (parts.length <= 1) return first;
  return Object.fromEntries(
    Object.keys(first).map((name) => [name, joinColumn(parts.map((part) => part[name]!))] as const),
  );
}

function joinColumn(parts: readonly PredictedColumn[]): PredictedColumn {
  const [first] = parts;
  if (Array.isArray(first)) return (parts as readonly (readonly string[])[]).flat();
  if (isHostArray(first)) return joinArrays(parts as readonly HostArray[]);
  if (isTypedArray(first))
    return joinArrays((parts as readonly TypedArray[]).map((data) => ({ data, shape: [data.length] }))).data;
  return joinColumns(parts as readonly PredictionColumns[]) as Record<string, TypedArray>;
}
