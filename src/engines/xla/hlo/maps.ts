// Elementwise functions of the graph as operations of StableHLO.
import type { MapOp } from "../../lower/graph.ts";
import { isFloat, typeOf, type HloType, type Value } from "./types.ts";
import type { HloWriter } from "./writer.ts";

type Lower = (writer: HloWriter, args: readonly Value[], type: HloType) => Value;

const unary =
  (op: string): Lower =>
  (writer, [x]) =>
    writer.unary(op, x!);
const binary =
  (op: string): Lower =>
  (writer, [a, b]) =>
    writer.binary(op, a!, b!);
const compare =
  (direction: "LT" | "LE" | "EQ" | "NE"): Lower =>
  (writer, [a, b]) =>
    writer.compare(direction, a!, b!);
/** Functions of the client dialect, which every plugin expands. */
const expanded =
  (op: string): Lower =>
  (writer, [x]) =>
    writer.emit(`chlo.${op} ${x!.name} : ${typeOf(x!)} -> ${typeOf(x!)}`, x!.shape, x!.type);

/** Arguments of one type and shape; `type` is the result's. */
export const MAPS: Readonly<Record<MapOp, Lower>> = {
  copy: (_, [x]) => x!,
  add: binary("add"),
  sub: binary("subtract"),
  mul: binary("multiply"),
  min: binary("minimum"),
  max: binary("maximum"),
  mod: binary("remainder"),
  /** Towards 0. */
  idiv(writer, [a, b]) {
    const quotient = writer.binary("divide", a!, b!);
    if (!isFloat(quotient.type)) return quotient;
    const isNegative = writer.compare("LT", quotient, writer.constant(0, quotient.shape, quotient.type));
    return writer.select(isNegative, writer.unary("ceil", quotient), writer.unary("floor", quotient));
  },
  neg: unary("negate"),
  reciprocal: (writer, [x]) => writer.binary("divide", writer.constant(1, x!.shape, x!.type), x!),
  floor: unary("floor"),
  ceil: unary("ceil"),
  sqrt: unary("sqrt"),
  exp: unary("exponential"),
  log: unary("log"),
  sin: unary("sine"),
  cos: unary("cosine"),
  asin: expanded("asin"),
  atan: (writer, [x]) => writer.binary("atan2", x!, writer.constant(1, x!.shape, x!.type)),
  erf: expanded("erf"),
  erfc: expanded("erfc"),
  and: binary("and"),
  or: binary("or"),
  xor: binary("xor"),
  shl: binary("shift_left"),
  shr: binary("shift_right_logical"),
  bitcount: unary("popcnt"),
  less: compare("LT"),
  lessEqual: compare("LE"),
  equal: compare("EQ"),
  notEqual: compare("NE"),
  where: (writer, [condition, then, otherwise]) => writer.select(writer.convert(condition!, "i1"), then!, otherwise!),
  cast: (writer, [x], type) => cast(writer, x!, type),
  bitcast: (writer, [x], type) => writer.bitcast(x!, type),
};

/** A float that no whole number of the type can hold becomes the nearest one, and NaN becomes 0, on every device. */
function cast(writer: HloWriter, x: Value, type: HloType): Value {
  if (!isFloat(x.type) || (type !== "i32" && type !== "ui32")) return writer.convert(x, type);
  const [low, high] = type === "i32" ? [-(2 ** 31), 2 ** 31] : [0, 2 ** 32];
  const least = type === "i32" ? low : 0;
  const most = type === "i32" ? 2 ** 31 - 1 : 2 ** 32 - 1;
  const at = (value: number, of: HloType): Value => writer.constant(value, x.shape, of);
  const inside = writer.convert(x, type);
  const atMost = writer.select(writer.compare("LE", at(high, x.type), x), at(most, type), inside);
  const atLeast = writer.select(writer.compare("LE", x, at(low, x.type)), at(least, type), atMost);
  return writer.select(writer.compare("NE", x, x), at(0, type), atLeast);
}
