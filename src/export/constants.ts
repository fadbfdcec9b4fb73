// Arrays that a model makes while it is traced: most are one number over and over, or count along an axis, and those
// are known for any number of rows.
import type { TypedArray } from "../core/arrays.ts";
import { countsAlong } from "../engines/lower/lower.ts";
import type { ArrayType, Constant } from "./program.ts";

/** The constant for any number of rows, from its numbers in each trace; undefined if they do not show what it is. */
export function mergeConstants(
  type: ArrayType,
  shapes: readonly (readonly number[])[],
  data: readonly TypedArray[],
): Constant | undefined {
  const [first] = data as [TypedArray];
  const fill = first[0] ?? 0;
  if (data.every((each) => each.every((value) => Object.is(value, fill)))) return { ...type, fill };
  const axis = shapes[0]!.findIndex((_, i) =>
    data.every((each, j) => each[0] === fill && countsAlong(each, shapes[j]!, i)),
  );
  if (axis >= 0 && type.dtype !== "bool") return { ...type, axis, start: fill };
  const isSame = data.every(
    (each) => each.length === first.length && each.every((value, i) => Object.is(value, first[i])),
  );
  return isSame && type.shape.every((size) => typeof size === "number") ? { ...type, data: first } : undefined;
}
