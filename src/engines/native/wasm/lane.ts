// One number, or four at once: the same formula is written once and emitted for both.
import type { DType } from "../../lower/graph.ts";
import type { Code, Local } from "./code.ts";
import type { Instruction, ValueType } from "./module.ts";

/** A value in a local, or a known number. */
export type Operand = Local | number;

/** In registers a truth value is 0 or 1 as one number, and no or all bits in each of four lanes: what `select` wants. */
export class Lane {
  readonly code: Code;
  readonly wide: boolean;

  constructor(code: Code, wide: boolean) {
    this.code = code;
    this.wide = wide;
  }

  type(dtype: DType): ValueType {
    if (this.wide) return "v128";
    return dtype === "float32" ? "f32" : "i32";
  }

  /** Puts an operand on the stack. */
  push(operand: Operand, kind: "f32" | "i32"): void {
    if (typeof operand !== "number") this.code.get(operand);
    else if (this.wide) this.code.splat(operand, kind);
    else if (kind === "f32") this.code.f32(operand);
    else this.code.i32(operand);
  }

  /** A function of floats; one that compares leaves a truth value. */
  f(name: string, ...args: Operand[]): Local {
    for (const arg of args) this.push(arg, "f32");
    this.code.op(`${this.wide ? "f32x4" : "f32"}.${name}` as Instruction);
    return this.code.keep(this.wide ? "v128" : COMPARES.includes(name) ? "i32" : "f32");
  }

  /** A function of whole numbers. */
  i(name: string, ...args: Operand[]): Local {
    for (const arg of args) this.push(arg, "i32");
    this.code.op(`${this.wide ? "i32x4" : "i32"}.${name}` as Instruction);
    return this.code.keep(this.wide ? "v128" : "i32");
  }

  /** A function of bits, such as `and`. */
  bits(name: "and" | "or" | "xor", a: Operand, b: Operand): Local {
    if (!this.wide) return this.i(name, a, b);
    this.push(a, "i32");
    this.push(b, "i32");
    this.code.op(`v128.${name}`);
    return this.code.keep("v128");
  }

  /** Shifts by a number that is the same for all lanes. */
  shift(name: "shl" | "shr_s" | "shr_u", a: Operand, by: number): Local {
    this.push(a, "i32");
    this.code.i32(by).op(`${this.wide ? "i32x4" : "i32"}.${name}`);
    return this.code.keep(this.wide ? "v128" : "i32");
  }

  not(condition: Local): Local {
    this.code.get(condition).op(this.wide ? "v128.not" : "i32.eqz");
    return this.code.keep(condition.type);
  }

  select(condition: Local, yes: Operand, no: Operand, kind: "f32" | "i32"): Local {
    this.push(yes, kind);
    this.push(no, kind);
    this.code.get(condition).op(this.wide ? "v128.bitselect" : "select");
    return this.code.keep(this.wide ? "v128" : kind);
  }

  /** To a float of the same value. */
  toFloat(a: Operand, from: "s" | "u" = "s"): Local {
    this.push(a, "i32");
    this.code.op(this.wide ? `f32x4.convert_i32x4_${from}` : `f32.convert_i32_${from}`);
    return this.code.keep(this.wide ? "v128" : "f32");
  }

  /** To the whole number towards 0; out of range stays at the end, NaN is 0. */
  toInt(a: Operand, to: "s" | "u" = "s"): Local {
    this.push(a, "f32");
    this.code.op(this.wide ? `i32x4.trunc_sat_f32x4_${to}` : `i32.trunc_sat_f32_${to}`);
    return this.code.keep(this.wide ? "v128" : "i32");
  }

  /** The same bits as a float. */
  asFloat(a: Local): Local {
    return this.wide ? a : this.code.get(a).op("f32.reinterpret_i32").keep("f32");
  }

  asInt(a: Local): Local {
    return this.wide ? a : this.code.get(a).op("i32.reinterpret_f32").keep("i32");
  }

  /** The value that memory has for a truth value: 0 or 1. */
  boolToInt(a: Local): Local {
    return this.wide ? this.bits("and", a, 1) : a;
  }

  /** With the other sign. In vectors, changing the bit is one instruction where `neg` is three. */
  negated(x: Local): Local {
    return this.wide ? this.bits("xor", x, -(2 ** 31)) : this.f("neg", x);
  }

  /** Within two known numbers; NaN stays NaN. */
  clamp(x: Local, low: number, high: number): Local {
    return this.atMost(this.atLeast(x, low), high);
  }

  /** The larger of a value and a known number. Of the instructions that do this, one is much faster, and keeps NaN in this order. */
  atLeast(x: Local, low: number): Local {
    return this.f(this.wide ? "pmax" : "max", x, low);
  }

  atMost(x: Local, high: number): Local {
    return this.f(this.wide ? "pmin" : "min", x, high);
  }

  /** Σ coefficients × xⁿ, the highest power first. */
  polynomial(x: Local, ...coefficients: number[]): Local {
    const [first, ...rest] = coefficients;
    let sum: Operand = first!;
    for (const coefficient of rest) sum = this.f("add", this.f("mul", sum, x), coefficient);
    return sum as unknown as Local;
  }
}

const COMPARES = ["eq", "ne", "lt", "gt", "le"];
