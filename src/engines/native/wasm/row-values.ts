// The values of a kernel while it is compiled: what changes with the inner loop is computed in it, the rest once a row.
import type { DType, ReduceOp } from "../../lower/graph.ts";
import { rowMajor } from "../../lower/view.ts";
import type { Access, Kernel, KernelValue, Statement } from "../kernel.ts";
import type { Code, Local } from "./code.ts";
import { Lane } from "./lane.ts";
import { type Phase, PhaseValues, type Scratch, argsOf, literalOf, targetOf } from "./phases.ts";
import type { RowPlaces } from "./row-places.ts";
import { joinTotals, startTotals, type Sums, type Totals } from "./totals.ts";
import { emitMap } from "./maps.ts";

const BYTES = 4;

/** A pointer of the inner loops, with the bytes that each of their dimensions moves it. */
interface Pointer {
  readonly local: Local;
  readonly strides: readonly number[];
}

/** A statement's value, and the address that it is written to, if it is. */
export interface Computed {
  readonly value: Local;
  readonly target: Local | undefined;
}

export class RowValues {
  readonly #code: Code;
  readonly #kernel: Kernel;
  readonly #places: RowPlaces;
  readonly #scratch: Scratch;
  readonly #scratchBase: Local;
  /** Values of this row, as single numbers and in all lanes. */
  #once = new Map<number, Local>();
  #spread = new Map<number, Local>();
  readonly #reduced = new Map<number, Local>();
  /** Of the current phase. */
  #values!: PhaseValues;
  #pointers = new Map<Access | number, Pointer>();
  #counters: Local[] = [];
  readonly #totals = new Map<number, Totals>();

  constructor(code: Code, kernel: Kernel, places: RowPlaces, scratch: Scratch, scratchBase: Local) {
    this.#code = code;
    this.#kernel = kernel;
    this.#places = places;
    this.#scratch = scratch;
    this.#scratchBase = scratchBase;
  }

  dtypeOf(value: number): DType {
    return this.#kernel.values[value]!.dtype;
  }

  enterRow(): void {
    this.#once = new Map();
    this.#spread = new Map();
    this.#reduced.clear();
  }

  /** The phase that the following is about. */
  choose(phase: Phase): void {
    this.#values = new PhaseValues(this.#kernel, phase);
  }

  canBeWide(): boolean {
    return this.#values.canBeWide();
  }

  /** Prepares the pointers of the phase and what its loop does not change. */
  enterPhase(wide: boolean) {
    this.#pointers = new Map();
    this.#counters = this.#values.inner.map(() => this.#code.local("i32"));
    const varying = this.#values.varying();
    const prepare = (index: number): void => void (wide ? this.#spreadOf(index) : this.#onceOf(index));
    for (const value of varying) {
      const described = this.#kernel.values[value]!;
      const fixed = argsOf(described).filter((arg) => !this.#values.varies(arg));
      for (const arg of fixed) if (described.kind === "map") prepare(arg);
      if (described.kind === "load") this.#point(described.from, described.from);
      if (described.kind === "kept" && !this.#values.has(described.statement))
        this.#pointAtMade(value, described.statement);
    }
    for (const { statement, index } of this.#values.phase.statements) {
      if (!this.#values.varies(statement.value)) prepare(statement.value);
      if (statement.kind === "keep") {
        if (this.#scratch.offsets.has(index)) this.#pointAtKept(targetKey(index), index);
      } else if (statement.kind !== "reduce") this.#point(targetKey(index), statement.to);
    }
    return {
      reset: (axis: number): void => this.#places.reset("inner", axis, this.#counters[axis]!),
      advance: (axis: number, steps: number): void => {
        if (axis < 0) return;
        for (const { local, strides } of this.#pointers.values()) this.#code.advance(local, strides[axis]! * steps);
        if (steps > 0) this.#code.advance(this.#counters[axis]!, steps);
      },
      /** What each statement has computed, at one place or at four, and where it goes. */
      evaluate: (lane: Lane): Computed[] => this.#evaluate(varying, lane),
    };
  }

  #point(key: Access | number, access: Access): void {
    if (this.#pointers.has(key)) return;
    const code = this.#code.get(this.#places.baseOf(access));
    for (const { value, stride } of access.at ?? []) {
      // An index that changes with the loop is added when the number is loaded.
      if (!this.#values.varies(value)) code.addTimes(this.#onceOf(value), stride * BYTES);
    }
    this.#pointers.set(key, { local: code.keep(code.pointer), strides: access.inner.map((stride) => stride * BYTES) });
  }

  /** At what an earlier phase has computed, wherever it went. */
  #pointAtMade(key: number, index: number): void {
    const statement = this.#kernel.statements[index]!;
    if (statement.kind === "store") this.#point(key, statement.to);
    else this.#pointAtKept(key, index);
  }

  #pointAtKept(key: number, statement: number): void {
    const { inner } = this.#kernel.statements[statement]!;
    this.#code.get(this.#scratchBase).addBytes(this.#scratch.offsets.get(statement)!);
    this.#pointers.set(key, {
      local: this.#code.keep(this.#code.pointer),
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
    const code = this.#code.get(this.#places.baseOf(from));
    for (const { value: at, stride } of from.at ?? []) code.addTimes(this.#onceOf(at), stride * BYTES);
    return code.keep(code.pointer);
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
      if (!this.#values.varies(index)) return lane.wide ? this.#spreadOf(index) : this.#onceOf(index);
      return here.get(index)!;
    };
    for (const index of varying) {
      const value = this.#kernel.values[index]!;
      if (value.kind === "kept" && this.#values.has(value.statement)) {
        here.set(index, operand(this.#kernel.statements[value.statement]!.value));
        continue;
      }
      here.set(
        index,
        this.#compute(lane, value, operand, () => this.#addressHere(index, value, operand)),
      );
    }
    return this.#values.phase.statements.map(({ statement, index }) => ({
      value: operand(statement.value),
      target: this.#target(statement, index, operand),
    }));
  }

  /** Where a statement writes; undefined for values kept in locals: a sum, or what only this phase uses. */
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
    const moving = (at ?? []).filter(({ value }) => this.#values.varies(value));
    if (moving.length === 0) return pointer;
    const code = this.#code.get(pointer);
    for (const { value, stride } of moving) code.addTimes(operand(value), stride * BYTES);
    return code.keep(code.pointer);
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
        return emitMapped(lane, this.#kernel, value, operand);
    }
  }

  #load(lane: Lane, address: Local, dtype: DType, value: KernelValue): Local {
    const code = this.#code;
    const stride = lane.wide ? this.#values.strideOf(value) : 1;
    if (stride === 2) code.loadEven(address);
    else if (stride === 0) code.get(address).loadSplat();
    else code.get(address).load(lane.type(dtype));
    const loaded = code.keep(lane.type(dtype));
    // From memory's 0 and 1 to what `select` wants.
    return dtype === "bool" ? lane.i("ne", loaded, 0) : loaded;
  }

  #index(lane: Lane, loop: "outer" | "inner", axis: number): Local {
    const counter = loop === "outer" ? this.#places.coordinate(axis) : this.#counters[axis]!;
    if (!lane.wide) return counter;
    this.#code.get(counter).op("i32x4.splat");
    if (axis === this.#values.inner.length - 1) this.#code.lanes().op("i32x4.add");
    return this.#code.keep("v128");
  }

  startReduction(index: number, fn: ReduceOp, dtype: DType, sums: Sums): Totals {
    const totals = startTotals(this.#code, fn, dtype, sums);
    this.#totals.set(index, totals);
    return totals;
  }

  /** After the loops: what the row came to is known. */
  leavePhase(): void {
    for (const { statement, index } of this.#values.phase.statements) {
      if (statement.kind !== "reduce") continue;
      const dtype = this.dtypeOf(statement.value);
      const total = joinTotals(this.#code, this.#totals.get(index)!, statement.fn, dtype);
      this.#reduced.set(index, total);
      if (!statement.to) continue;
      this.#code
        .get(this.#places.baseOf(statement.to))
        .get(total)
        .store(dtype === "float32" ? "f32" : "i32");
    }
  }
}

/** Loads are found by their number, what statements write by this. */
const targetKey = (statement: number): number => -1 - statement;

// The value of a map whose operands are there. What is a known number goes into the instructions.

type MapValue = Extract<KernelValue, { kind: "map" }>;
type Operand = (index: number) => Local;

function emitMapped(lane: Lane, kernel: Kernel, value: MapValue, operand: Operand): Local {
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
