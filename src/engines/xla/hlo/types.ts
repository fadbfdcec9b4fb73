// Types of StableHLO as text, and numbers as they are written in it.
import type { DType } from "../../lower/graph.ts";

export type HloType = "f32" | "bf16" | "i32" | "ui32" | "i1";
export type Shape = readonly number[];

/** A result in the program: its name, such as `%12`, with what it holds. */
export interface Value {
  readonly name: string;
  readonly shape: Shape;
  readonly type: HloType;
}

export const HLO_TYPES: Readonly<Record<DType, HloType>> = { float32: "f32", int32: "i32", uint32: "ui32", bool: "i1" };

export const isFloat = (type: HloType): boolean => type === "f32" || type === "bf16";

export const tensor = (shape: Shape, type: HloType): string => `tensor<${[...shape, type].join("x")}>`;

export const typeOf = ({ shape, type }: Value): string => tensor(shape, type);

/** Infinity, −infinity and NaN have no decimal form in MLIR. */
const BITS: Readonly<Record<"f32" | "bf16", readonly [string, string, string]>> = {
  f32: ["0x7F800000", "0xFF800000", "0x7FC00000"],
  bf16: ["0x7F80", "0xFF80", "0x7FC0"],
};

export function numberText(value: number, type: HloType): string {
  if (type === "i1") return value === 0 ? "false" : "true";
  if (type === "i32") return String(value | 0);
  if (type === "ui32") return String(value >>> 0);
  const [infinity, minusInfinity, nan] = BITS[type];
  if (Number.isNaN(value)) return nan;
  if (!Number.isFinite(value)) return value > 0 ? infinity : minusInfinity;
  if (Object.is(value, -0)) return "-0.0";
  // Nine digits behind the point say a float32 exactly.
  return value.toExponential(9);
}
