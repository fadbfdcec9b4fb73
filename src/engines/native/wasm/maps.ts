// Emits the elementwise functions of a graph.
import type { DType, MapOp, ReduceOp } from "../../lower/graph.ts";
import type { Local } from "./code.ts";
import type { Lane } from "./lane.ts";
import { asin, atan, erf, erfc, exp, log, sine } from "./math.ts";

type Emit = (lane: Lane, args: readonly Local[], dtype: DType, from: DType) => Local;

const isFloat = (dtype: DType): boolean => dtype === "float32";
const sign = (dtype: DType): "s" | "u" => (dtype === "int32" ? "s" : "u");

/** The same word for floats and for whole numbers. */
const plain =
  (name: string): Emit =>
  (l, args, dtype) =>
    isFloat(dtype) ? l.f(name, ...args) : l.i(name, ...args);

const extreme =
  (name: "min" | "max"): Emit =>
  (l, [a, b], dtype) => {
    if (isFloat(dtype)) return l.f(name, a!, b!);
    if (l.wide) return l.i(`${name}_${sign(dtype)}`, a!, b!);
    const less = l.i(`lt_${sign(dtype)}`, a!, b!);
    return name === "min" ? l.select(less, a!, b!, "i32") : l.select(less, b!, a!, "i32");
  };

const comparison =
  (name: "lt" | "le"): Emit =>
  (l, args, _, from) =>
    isFloat(from) ? l.f(name, ...args) : l.i(`${name}_${sign(from)}`, ...args);

const equality =
  (name: "eq" | "ne"): Emit =>
  (l, args, _, from) =>
    isFloat(from) ? l.f(name, ...args) : l.i(name, ...args);

const bits =
  (name: "and" | "or" | "xor"): Emit =>
  (l, [a, b]) =>
    l.bits(name, a!, b!);

/** A shift by a number of each place's own, which vectors do not have: one number at a time. */
const shift =
  (name: "shl" | "shr"): Emit =>
  (l, [a, b], dtype) =>
    l.i(name === "shl" ? "shl" : `shr_${sign(dtype)}`, a!, b!);

const MAPS: Readonly<Record<MapOp, Emit>> = {
  copy: (_, [a]) => a!,
  add: plain("add"),
  sub: plain("sub"),
  mul: plain("mul"),
  min: extreme("min"),
  max: extreme("max"),
  neg: (l, [a], dtype) => (isFloat(dtype) ? l.negated(a!) : l.i("sub", 0, a!)),
  reciprocal: (l, [a]) => l.f("div", 1, a!),
  idiv: (l, [a, b], dtype) => (isFloat(dtype) ? l.f("trunc", l.f("div", a!, b!)) : l.i(`div_${sign(dtype)}`, a!, b!)),
  mod(l, [a, b], dtype) {
    if (!isFloat(dtype)) return l.i(`rem_${sign(dtype)}`, a!, b!);
    return l.f("sub", a!, l.f("mul", l.f("trunc", l.f("div", a!, b!)), b!));
  },
  floor: (l, [a]) => l.f("floor", a!),
  ceil: (l, [a]) => l.f("ceil", a!),
  sqrt: (l, [a]) => l.f("sqrt", a!),
  exp: (l, [a]) => exp(l, a!),
  log: (l, [a]) => log(l, a!),
  sin: (l, [a]) => sine(l, a!, 0),
  cos: (l, [a]) => sine(l, a!, 1),
  asin: (l, [a]) => asin(l, a!),
  atan: (l, [a]) => atan(l, a!),
  erf: (l, [a]) => erf(l, a!),
  erfc: (l, [a]) => erfc(l, a!),
  and: bits("and"),
  or: bits("or"),
  xor: bits("xor"),
  shl: shift("shl"),
  shr: shift("shr"),
  bitcount: (l, [a]) => l.i("popcnt", a!),
  less: comparison("lt"),
  lessEqual: comparison("le"),
  equal: equality("eq"),
  notEqual: equality("ne"),
  where: (l, [condition, a, b], dtype) => l.select(condition!, a!, b!, isFloat(dtype) ? "f32" : "i32"),
  cast: (l, [a], dtype, from) => cast(l, a!, from, dtype),
  bitcast: (l, [a], dtype, from) => (isFloat(dtype) ? l.asFloat(a!) : isFloat(from) ? l.asInt(a!) : a!),
};

function cast(l: Lane, a: Local, from: DType, to: DType): Local {
  if (from === to) return a;
  if (to === "bool") return isFloat(from) ? l.f("ne", a, 0) : l.i("ne", a, 0);
  if (from === "bool") return isFloat(to) ? l.toFloat(l.boolToInt(a)) : l.boolToInt(a);
  if (isFloat(to)) return l.toFloat(a, sign(from));
  return isFloat(from) ? l.toInt(a, sign(to)) : a;
}

export function emitMap(lane: Lane, fn: MapOp, args: readonly Local[], dtype: DType, from: DType): Local {
  return MAPS[fn](lane, args, dtype, from);
}

/** Functions that have no instruction for four numbers at once. */
export function onlyOneByOne(fn: MapOp, dtype: DType): boolean {
  if (fn === "shl" || fn === "shr" || fn === "bitcount") return true;
  return (fn === "idiv" || fn === "mod") && !isFloat(dtype);
}

/** What a reduction begins with. Truth values begin as numbers of 0 and 1 do. */
export function neutral(fn: ReduceOp, dtype: DType): number {
  if (fn === "add") return 0;
  if (fn === "mul") return 1;
  const least = fn === "max";
  if (isFloat(dtype)) return least ? -Infinity : Infinity;
  if (dtype === "int32") return least ? -(2 ** 31) : 2 ** 31 - 1;
  // All bits set, as a signed constant.
  return least ? 0 : dtype === "uint32" ? -1 : 1;
}
