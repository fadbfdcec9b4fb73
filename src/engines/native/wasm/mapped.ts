// The value of a map whose operands are there. What is a known number goes into the instructions.
import type { Kernel, KernelValue } from "../kernel.ts";
import type { Local } from "./code.ts";
import type { Lane } from "./lane.ts";
import { emitMap } from "./maps.ts";
import { literalOf } from "./phase-values.ts";

type MapValue = Extract<KernelValue, { kind: "map" }>;
type Operand = (index: number) => Local;

export function emitMapped(lane: Lane, kernel: Kernel, value: MapValue, operand: Operand): Local {
  const { fn, args, dtype } = value;
  const shift = fn === "shl" || fn === "shr" ? literalOf(kernel, args[1]!) : undefined;
  if (shift !== undefined) {
    const name = fn === "shl" ? "shl" : dtype === "int32" ? "shr_s" : "shr_u";
    return lane.shift(name, operand(args[0]!), shift);
  }
  const bounded = emitBounded(lane, kernel, value, operand);
  return bounded ?? emitMap(lane, fn, args.map(operand), dtype, kernel.values[args[0]!]!.dtype);
}

/** The larger or smaller of a float and a known number. */
function emitBounded(lane: Lane, kernel: Kernel, { fn, args, dtype }: MapValue, operand: Operand): Local | undefined {
  if ((fn !== "min" && fn !== "max") || dtype !== "float32") return undefined;
  const known = args.findIndex((arg) => literalOf(kernel, arg) !== undefined);
  if (known < 0 || Number.isNaN(literalOf(kernel, args[known]!))) return undefined;
  const [x, bound] = [operand(args[1 - known]!), literalOf(kernel, args[known]!)!];
  return fn === "max" ? lane.atLeast(x, bound) : lane.atMost(x, bound);
}
