// Emits the elementwise functions of a graph.
import type { DType, MapOp, ReduceOp } from "../../lower/graph.ts";
import type { Local } from "./code.ts";
import type { Lane } from "./lane.ts";

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

// Functions that wasm has no instruction for, good to a few units in the last place.
// The reductions and polynomials are those of the Cephes library, the error function's is Eigen's.

const ln2 = { high: 0.693359375, low: -2.1219444e-4 };
/** π/2 in three parts, so that multiples of it are taken off without loss. */
const HALF_PI = [1.5703125, 4.837512969970703e-4, 7.549789948768648e-8] as const;

/** Added to a small number, it leaves no room for a fraction: the sum's lowest bits are the nearest whole number. */
const ROUNDING = 1.5 * 2 ** 23;

function exp(l: Lane, x: Local): Local {
  // Below this the result is 0 anyway; NaN passes.
  const inRange = l.atLeast(x, -88);
  // 2¹²⁸ is no float, but numbers just below it are: they are 2¹²⁷ and a little more, and what is above overflows.
  const rounded = l.atMost(l.f("add", l.f("mul", inRange, Math.LOG2E), ROUNDING), ROUNDING + 127);
  const n = l.f("sub", rounded, ROUNDING);
  const r = l.f("sub", l.f("sub", inRange, l.f("mul", n, ln2.high)), l.f("mul", n, ln2.low));
  const tail = l.polynomial(r, 1.98756915e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5);
  const power = l.f("add", l.f("add", l.f("mul", l.f("mul", tail, r), r), r), 1);
  const scale = l.asFloat(l.i("add", l.shift("shl", l.asInt(rounded), 23), 127 << 23));
  return l.f("mul", power, scale);
}

function log(l: Lane, x: Local): Local {
  const tiny = l.f("lt", x, 1.17549435e-38);
  const bits = l.asInt(l.select(tiny, l.f("mul", x, 2 ** 23), x, "f32"));
  const shift = l.select(tiny, 126 + 23, 126, "i32");
  const exponent = l.toFloat(l.i("sub", l.shift("shr_u", bits, 23), shift));
  const mantissa = l.asFloat(l.bits("or", l.bits("and", bits, 0x007fffff), 0x3f000000));
  const low = l.f("lt", mantissa, Math.SQRT1_2);
  const e = l.select(low, l.f("sub", exponent, 1), exponent, "f32");
  const m = l.f("sub", l.select(low, l.f("add", mantissa, mantissa), mantissa, "f32"), 1);
  const z = l.f("mul", m, m);
  const fit = l.polynomial(
    m,
    7.0376836292e-2,
    -1.151461031e-1,
    1.167699874e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
  );
  const cubic = l.f("mul", l.f("mul", fit, m), z);
  const corrected = l.f("sub", l.f("add", cubic, l.f("mul", e, ln2.low)), l.f("mul", z, 0.5));
  const sum = l.f("add", l.f("add", m, corrected), l.f("mul", e, ln2.high));
  const zero = l.select(l.f("eq", x, 0), -Infinity, sum, "f32");
  const negative = l.select(l.f("lt", x, 0), Number.NaN, zero, "f32");
  // Infinity and NaN are their own logarithms.
  return l.select(l.f("lt", x, Infinity), negative, x, "f32");
}

/** `turns` is 0 for the sine, 1 for the cosine: a quarter turn ahead. */
function sine(l: Lane, x: Local, turns: 0 | 1): Local {
  const n = l.f("nearest", l.f("mul", x, 2 / Math.PI));
  let r = x;
  for (const part of HALF_PI) r = l.f("sub", r, l.f("mul", n, part));
  const quarter = l.i("add", l.toInt(n), turns);
  const z = l.f("mul", r, r);
  const sinFit = l.polynomial(z, -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1);
  const sin = l.f("add", l.f("mul", l.f("mul", sinFit, z), r), r);
  const cosFit = l.polynomial(z, 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2);
  const cos = l.f("add", l.f("sub", l.f("mul", l.f("mul", cosFit, z), z), l.f("mul", z, 0.5)), 1);
  const odd = l.i("ne", l.bits("and", quarter, 1), 0);
  const turned = l.select(odd, cos, sin, "f32");
  const backwards = l.i("ne", l.bits("and", quarter, 2), 0);
  return l.select(backwards, l.f("neg", turned), turned, "f32");
}

function atan(l: Lane, x: Local): Local {
  const a = l.f("abs", x);
  const large = l.f("gt", a, 2.414213562373095);
  const middle = l.f("gt", a, 0.4142135623730951);
  const folded = l.select(middle, l.f("div", l.f("sub", a, 1), l.f("add", a, 1)), a, "f32");
  const r = l.select(large, l.f("div", -1, a), folded, "f32");
  const start = l.select(large, Math.PI / 2, l.select(middle, Math.PI / 4, 0, "f32"), "f32");
  const z = l.f("mul", r, r);
  const fit = l.polynomial(z, 8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1);
  const angle = l.f("add", start, l.f("add", l.f("mul", l.f("mul", fit, z), r), r));
  return l.select(l.f("lt", x, 0), l.f("neg", angle), angle, "f32");
}

function asin(l: Lane, x: Local): Local {
  const a = l.f("abs", x);
  const large = l.f("gt", a, 0.5);
  const z = l.select(large, l.f("mul", l.f("sub", 1, a), 0.5), l.f("mul", a, a), "f32");
  const r = l.select(large, l.f("sqrt", z), a, "f32");
  const fit = l.polynomial(z, 4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1);
  const small = l.f("add", l.f("mul", l.f("mul", fit, z), r), r);
  const angle = l.select(large, l.f("sub", Math.PI / 2, l.f("add", small, small)), small, "f32");
  return l.select(l.f("lt", x, 0), l.f("neg", angle), angle, "f32");
}

/** A quotient of two polynomials, good to 1e-7 of the range from −1 to 1. */
function erf(l: Lane, x: Local): Local {
  const inRange = l.clamp(x, -4, 4);
  const z = l.f("mul", inRange, inRange);
  const above = l.polynomial(
    z,
    -2.72614225801306e-10,
    2.77068142495902e-8,
    -2.10102402082508e-6,
    -5.69250639462346e-5,
    -7.34990630326855e-4,
    -2.95459980854025e-3,
    -1.60960333262415e-2,
  );
  const below = l.polynomial(
    z,
    -1.45660718464996e-5,
    -2.13374055278905e-4,
    -1.68282697438203e-3,
    -7.37332916720468e-3,
    -1.42647390514189e-2,
  );
  return l.f("div", l.f("mul", above, inRange), below);
}

/** Through the error function, as PyTorch's gelu has it: where it is tiny, it is good to 1e-7 of 1, not of itself. */
const erfc = (l: Lane, x: Local): Local => l.f("sub", 1, erf(l, x));
