// The values of a kernel while it is compiled: what changes with the inner loop is computed in it, the rest once a row.
import type { DType, ReduceOp } from "../../lower/graph.ts";
import { rowMajor } from "../../lower/view.ts";
import type { Access, Kernel, KernelValue, Statement } from "../kernel.ts";
import type { Code, Local } from "./code.ts";
import { combine } from "./compile.ts";
import { Lane } from "./lane.ts";
import { emitMap, neutral, onlyOneByOne } from "./maps.ts";
import type { Phase } from "./phases.ts";
import type { Scratch } from "./scratch.ts";

const BYTES = 4;

/** A pointer of the inner loops, with the bytes that each of their dimensions moves it. */
interface Pointer {
  readonly local: Local;
  readonly strides: readonly number[];
}

type MapValue = Extract<KernelValue, { kind: "map" }>;

/** A statement's value, and the address that it is written to, if it is. */
export interface Computed {
  readonly value: Local;
  readonly target: Local | undefined;
}

/** What part of the first dimension of a loop is done. */
export interface Range {
  readonly loop: "outer" | "inner";
  readonly begin: Local;
  readonly count: Local;
}

/** How the numbers of a row are added up: in the lanes of a vector, in four sums, or in one. The first two are the same. */
export type Sums = "wide" | "four" | "one";

interface Totals {
  /** Lanes in which there was a NaN, where the total passes it over. */
  readonly nans: Local | undefined;
  readonly single: Local;
  readonly wide: Local | undefined;
  readonly four: readonly Local[];
}

export class RowValues {
  readonly #code: Code;
  readonly #kernel: Kernel;
  readonly #scratch: Scratch;
  readonly #scratchBase: Local;
  readonly #range: Range | undefined;
  /** By access: where it stands at the beginning of the row. */
  readonly #bases = new Map<Access, Local>();
  readonly #outerCounters: Local[] = [];
  /** Values of this row, as single numbers and in all lanes. */
  #once = new Map<number, Local>();
  #spread = new Map<number, Local>();
  readonly #reduced = new Map<number, Local>();
  #phase!: Phase;
  /** Of the phase at hand: which values change with its loop. */
  #changing = new Map<number, boolean>();
  #pointers = new Map<Access | number, Pointer>();
  #innerCounters: Local[] = [];
  readonly #totals = new Map<number, Totals>();

  constructor(code: Code, kernel: Kernel, scratch: Scratch, scratchBase: Local, range: Range | undefined) {
    this.#range = range;
    this.#code = code;
    this.#kernel = kernel;
    this.#scratch = scratch;
    this.#scratchBase = scratchBase;
  }

  dtypeOf(value: number): DType {
    return this.#kernel.values[value]!.dtype;
  }

  /** Before the first row: a pointer for every access, and a counter for every outer dimension that someone asks for. */
  begin(): void {
    const { values, statements, outer } = this.#kernel;
    const accesses = [
      ...values.flatMap((value) => (value.kind === "load" ? [value.from] : [])),
      ...statements.flatMap((statement) => ("to" in statement && statement.to ? [statement.to] : [])),
    ];
    for (const access of accesses) {
      this.#code
        .get(this.#code.param(access.buffer))
        .i32(access.offset * BYTES)
        .op("i32.add");
      const base = this.#code.keep("i32");
      const strides = this.#range && access[this.#range.loop];
      if (strides?.[0] !== undefined) this.#code.advanceBy(base, this.#range!.begin, strides[0] * BYTES);
      this.#bases.set(access, base);
    }
    this.#outerCounters.push(...outer.map(() => this.#code.local("i32")));
  }

  /** How many places of a dimension are done, if it is not all of them. */
  countOf(loop: "outer" | "inner", axis: number): Local | undefined {
    return axis === 0 && this.#range?.loop === loop ? this.#range.count : undefined;
  }

  resetOuter(axis: number): void {
    this.#reset("outer", axis, this.#outerCounters[axis]!);
  }

  #reset(loop: "outer" | "inner", axis: number, counter: Local): void {
    if (this.countOf(loop, axis)) this.#code.get(this.#range!.begin).set(counter);
    else this.#code.i32(0).set(counter);
  }

  advanceOuter(axis: number, steps: number): void {
    for (const [access, pointer] of this.#bases) this.#code.advance(pointer, access.outer[axis]! * steps * BYTES);
    if (steps === 1) this.#code.advance(this.#outerCounters[axis]!, 1);
  }

  enterRow(): void {
    this.#once = new Map();
    this.#spread = new Map();
    this.#reduced.clear();
  }

  get #inner(): readonly number[] {
    return this.#phase.statements[0]!.statement.inner;
  }

  /** Does the value change with the inner loop of the phase at hand? */
  #varies(index: number): boolean {
    const known = this.#changing.get(index);
    if (known !== undefined) return known;
    const varies = this.#findVaries(this.#kernel.values[index]!);
    this.#changing.set(index, varies);
    return varies;
  }

  #findVaries(value: KernelValue): boolean {
    switch (value.kind) {
      case "load":
        return (
          value.from.inner.some((stride, axis) => stride !== 0 && this.#inner[axis] !== 1) ||
          (value.from.at ?? []).some(({ value: at }) => this.#varies(at))
        );
      case "index":
        return value.loop === "inner";
      case "map":
        return value.args.some((arg) => this.#varies(arg));
      default:
        return value.kind === "kept";
    }
  }

  /** Values that the inner loop computes, in order. */
  #varying(): number[] {
    const found = new Set<number>();
    const visit = (index: number): void => {
      if (found.has(index) || !this.#varies(index)) return;
      for (const arg of argsOf(this.#kernel.values[index]!)) visit(arg);
      found.add(index);
    };
    for (const { statement } of this.#phase.statements) {
      for (const { value } of targetOf(statement)?.at ?? []) visit(value);
      visit(statement.value);
    }
    return [...found];
  }

  /** The phase that the following is about. */
  choose(phase: Phase): void {
    this.#phase = phase;
    this.#changing = new Map();
  }

  /** Four places at once need numbers that lie side by side, or are the same for all of them. */
  canBeWide(): boolean {
    const last = this.#inner.length - 1;
    const writes = this.#phase.statements.every(({ statement }) => {
      if (statement.kind === "keep" || statement.kind === "reduce") return true;
      return statement.to.inner[last] === 1 && !(statement.to.at ?? []).some(({ value }) => this.#varies(value));
    });
    return writes && this.#varying().every((index) => this.#isWide(this.#kernel.values[index]!, last));
  }

  #isWide(value: KernelValue, last: number): boolean {
    if (value.kind === "load") {
      const { inner, at = [] } = value.from;
      return (inner[last] === 0 || inner[last] === 1) && !at.some((each) => this.#varies(each.value));
    }
    if (value.kind !== "map") return true;
    const shifts = value.fn === "shl" || value.fn === "shr";
    return shifts ? this.#literal(value.args[1]!) !== undefined : !onlyOneByOne(value.fn, value.dtype);
  }

  #literal(index: number): number | undefined {
    const value = this.#kernel.values[index]!;
    return value.kind === "literal" ? value.value : undefined;
  }

  /** Prepares the pointers of the phase and what its loop does not change. */
  enterPhase(wide: boolean) {
    this.#pointers = new Map();
    this.#innerCounters = this.#inner.map(() => this.#code.local("i32"));
    const varying = this.#varying();
    const prepare = (index: number): void => void (wide ? this.#spreadOf(index) : this.#onceOf(index));
    for (const value of varying) {
      const described = this.#kernel.values[value]!;
      const fixed = argsOf(described).filter((arg) => !this.#varies(arg));
      for (const arg of fixed) if (described.kind === "map") prepare(arg);
      if (described.kind === "load") this.#point(described.from, described.from);
      if (described.kind === "kept" && !this.#here(described.statement)) this.#pointAtMade(value, described.statement);
    }
    for (const { statement, index } of this.#phase.statements) {
      if (!this.#varies(statement.value)) prepare(statement.value);
      if (statement.kind === "keep") {
        if (this.#scratch.offsets.has(index)) this.#pointAtKept(targetKey(index), index);
      } else if (statement.kind !== "reduce") this.#point(targetKey(index), statement.to);
    }
    return {
      reset: (axis: number): void => this.#reset("inner", axis, this.#innerCounters[axis]!),
      advance: (axis: number, steps: number): void => {
        if (axis < 0) return;
        for (const { local, strides } of this.#pointers.values()) this.#code.advance(local, strides[axis]! * steps);
        if (steps > 0) this.#code.advance(this.#innerCounters[axis]!, steps);
      },
      /** What each statement has computed, at one place or at four, and where it goes. */
      evaluate: (lane: Lane): Computed[] => this.#evaluate(varying, lane),
    };
  }

  /** Is that statement one of this phase, so that what it keeps is at hand? */
  #here(statement: number): boolean {
    return this.#phase.statements.some(({ index }) => index === statement);
  }

  #point(key: Access | number, access: Access): void {
    if (this.#pointers.has(key)) return;
    const code = this.#code.get(this.#bases.get(access)!);
    for (const { value, stride } of access.at ?? []) {
      // An index that changes with the loop is added when the number is loaded.
      if (!this.#varies(value))
        code
          .get(this.#onceOf(value))
          .i32(stride * BYTES)
          .op("i32.mul", "i32.add");
    }
    this.#pointers.set(key, { local: code.keep("i32"), strides: access.inner.map((stride) => stride * BYTES) });
  }

  /** At what an earlier phase has computed, wherever it went. */
  #pointAtMade(key: number, index: number): void {
    const statement = this.#kernel.statements[index]!;
    if (statement.kind === "store") this.#point(key, statement.to);
    else this.#pointAtKept(key, index);
  }

  #pointAtKept(key: number, statement: number): void {
    const { inner } = this.#kernel.statements[statement]!;
    this.#code.get(this.#scratchBase).i32(this.#scratch.offsets.get(statement)!).op("i32.add");
    this.#pointers.set(key, {
      local: this.#code.keep("i32"),
      strides: rowMajor(inner).map((stride) => stride * BYTES),
    });
  }

  /** A value that is the same for the whole row. */
  #onceOf(index: number): Local {
    const known = this.#once.get(index);
    if (known) return known;
    const lane = new Lane(this.#code, false);
    const value = this.#kernel.values[index]!;
    const local = this.#compute(
      lane,
      value,
      (arg) => this.#onceOf(arg),
      () => this.#addressOnce(value),
    );
    this.#once.set(index, local);
    return local;
  }

  #addressOnce(value: KernelValue): Local {
    const { from } = value as Extract<KernelValue, { kind: "load" }>;
    const code = this.#code.get(this.#bases.get(from)!);
    for (const { value: at, stride } of from.at ?? []) {
      code
        .get(this.#onceOf(at))
        .i32(stride * BYTES)
        .op("i32.mul", "i32.add");
    }
    return code.keep("i32");
  }

  /** The same in all four lanes. */
  #spreadOf(index: number): Local {
    const known = this.#spread.get(index);
    if (known) return known;
    const once = this.#onceOf(index);
    const dtype = this.dtypeOf(index);
    this.#code.get(once);
    if (dtype === "bool") this.#code.i32(0).op("i32.ne");
    // A truth value in lanes is all bits or none: 0 − 1 and 0 − 0.
    this.#code.op(dtype === "float32" ? "f32x4.splat" : "i32x4.splat");
    if (dtype === "bool") this.#code.op("i32x4.neg");
    const local = this.#code.keep("v128");
    this.#spread.set(index, local);
    return local;
  }

  #evaluate(varying: readonly number[], lane: Lane): Computed[] {
    const here = new Map<number, Local>();
    const operand = (index: number): Local => {
      if (!this.#varies(index)) return lane.wide ? this.#spreadOf(index) : this.#onceOf(index);
      return here.get(index)!;
    };
    for (const index of varying) {
      const value = this.#kernel.values[index]!;
      if (value.kind === "kept" && this.#here(value.statement)) {
        here.set(index, operand(this.#kernel.statements[value.statement]!.value));
        continue;
      }
      here.set(
        index,
        this.#compute(lane, value, operand, () => this.#addressHere(index, value, operand)),
      );
    }
    return this.#phase.statements.map(({ statement, index }) => ({
      value: operand(statement.value),
      target: this.#target(statement, index, operand),
    }));
  }

  /** Where a statement writes; undefined for what stays at hand: a sum, or what only this phase uses. */
  #target(statement: Statement, index: number, operand: (index: number) => Local): Local | undefined {
    const pointer = this.#pointers.get(targetKey(index))?.local;
    return pointer && this.#addressOf(pointer, targetOf(statement)?.at, operand);
  }

  #addressHere(index: number, value: KernelValue, operand: (index: number) => Local): Local {
    if (value.kind === "kept") return this.#pointers.get(index)!.local;
    const { from } = value as Extract<KernelValue, { kind: "load" }>;
    return this.#addressOf(this.#pointers.get(from)!.local, from.at, operand);
  }

  /** A pointer and the coordinates that change with the loop. */
  #addressOf(pointer: Local, at: Access["at"], operand: (index: number) => Local): Local {
    const moving = (at ?? []).filter(({ value }) => this.#varies(value));
    if (moving.length === 0) return pointer;
    const code = this.#code.get(pointer);
    for (const { value, stride } of moving)
      code
        .get(operand(value))
        .i32(stride * BYTES)
        .op("i32.mul", "i32.add");
    return code.keep("i32");
  }

  #compute(lane: Lane, value: KernelValue, operand: (index: number) => Local, address: () => Local): Local {
    const code = this.#code;
    const { dtype } = value;
    switch (value.kind) {
      case "literal":
        lane.push(value.value, dtype === "float32" ? "f32" : "i32");
        return code.keep(lane.type(dtype));
      case "index":
        return this.#index(lane, value.loop, value.axis);
      case "load":
      case "kept":
        return this.#load(lane, address(), dtype, value);
      case "reduced":
        return this.#reduced.get(value.statement)!;
      default:
        return this.#mapped(lane, value, operand);
    }
  }

  #mapped(lane: Lane, value: MapValue, operand: (index: number) => Local): Local {
    const { fn, args, dtype } = value;
    const shift = fn === "shl" || fn === "shr" ? this.#literal(args[1]!) : undefined;
    if (shift !== undefined) {
      const name = fn === "shl" ? "shl" : dtype === "int32" ? "shr_s" : "shr_u";
      return lane.shift(name, operand(args[0]!), shift);
    }
    return this.#bounded(lane, value, operand) ?? emitMap(lane, fn, args.map(operand), dtype, this.dtypeOf(args[0]!));
  }

  /** The larger or smaller of a float and a known number. */
  #bounded(lane: Lane, { fn, args, dtype }: MapValue, operand: (index: number) => Local): Local | undefined {
    if ((fn !== "min" && fn !== "max") || dtype !== "float32") return undefined;
    const known = args.findIndex((arg) => this.#literal(arg) !== undefined);
    if (known < 0 || Number.isNaN(this.#literal(args[known]!))) return undefined;
    const [x, bound] = [operand(args[1 - known]!), this.#literal(args[known]!)!];
    return fn === "max" ? lane.atLeast(x, bound) : lane.atMost(x, bound);
  }

  #load(lane: Lane, address: Local, dtype: DType, value: KernelValue): Local {
    const code = this.#code.get(address);
    const last = this.#inner.length - 1;
    const repeats = value.kind === "load" && lane.wide && value.from.inner[last] === 0;
    if (repeats) code.loadSplat();
    else code.load(lane.type(dtype));
    const loaded = code.keep(lane.type(dtype));
    // From memory's 0 and 1 to what `select` wants.
    return dtype === "bool" ? lane.i("ne", loaded, 0) : loaded;
  }

  #index(lane: Lane, loop: "outer" | "inner", axis: number): Local {
    const counter = (loop === "outer" ? this.#outerCounters : this.#innerCounters)[axis]!;
    if (!lane.wide) return counter;
    this.#code.get(counter).op("i32x4.splat");
    if (axis === this.#inner.length - 1) this.#code.lanes().op("i32x4.add");
    return this.#code.keep("v128");
  }

  /** Totals that begin with the neutral element. */
  startReduction(index: number, fn: ReduceOp, dtype: DType, sums: Sums): Totals {
    const start = neutral(fn, dtype);
    const kind = dtype === "float32" ? "f32" : "i32";
    const total = (lane: Lane): Local => {
      lane.push(start, kind);
      return this.#code.keep(lane.type(dtype));
    };
    // The fast instruction for the larger of two passes NaN over: that there was one is noted beside it.
    const extreme = sums === "wide" && dtype === "float32" && (fn === "max" || fn === "min");
    const totals: Totals = {
      nans: extreme ? this.#code.splat(0, "i32").keep("v128") : undefined,
      single: total(new Lane(this.#code, false)),
      wide: sums === "wide" ? total(new Lane(this.#code, true)) : undefined,
      four: sums === "four" ? Array.from({ length: 4 }, () => total(new Lane(this.#code, false))) : [],
    };
    this.#totals.set(index, totals);
    return totals;
  }

  /** After the loops: the lanes of a total come together, and what the row came to is known. */
  leavePhase(): void {
    const code = this.#code;
    for (const { statement, index } of this.#phase.statements) {
      if (statement.kind !== "reduce") continue;
      const dtype = this.dtypeOf(statement.value);
      const kind = dtype === "float32" ? "f32" : "i32";
      const lane = new Lane(code, false);
      const { single, wide, four, nans } = this.#totals.get(index)!;
      const lanes = wide ? [0, 1, 2, 3].map((i) => code.get(wide).extract(kind, i).keep(kind)) : four;
      const numbers = lanes.reduce((sum, each) => combine(lane, statement.fn, sum, each, dtype), single);
      const total = nans ? lane.select(anyTrue(code, nans), Number.NaN, numbers, "f32") : numbers;
      this.#reduced.set(index, total);
      if (statement.to) code.get(this.#bases.get(statement.to)!).get(total).store(kind);
    }
  }
}

const anyTrue = (code: Code, lanes: Local): Local => code.get(lanes).op("v128.any_true").keep("i32");

/** Loads are found by their number, what statements write by this. */
const targetKey = (statement: number): number => -1 - statement;

const targetOf = (statement: Statement): Access | undefined => ("to" in statement ? statement.to : undefined);

const argsOf = (value: KernelValue): readonly number[] => {
  if (value.kind === "map") return value.args;
  return value.kind === "load" ? (value.from.at ?? []).map(({ value: at }) => at) : [];
};
