// Compiles a kernel to one wasm function. Its parameters are the buffers' addresses, then that of its scratch memory,
// then, for one that does a range, where that begins and how long it is.
import type { DType } from "../../lower/graph.ts";
import type { Kernel } from "../kernel.ts";
import { Code, type Local } from "./code.ts";
import { Lane } from "./lane.ts";
import { neutral } from "./maps.ts";
import { type Address, assemble, type MemoryKind, type WasmFunction } from "./module.ts";
import { type Phase, type Placed, phasesOf, scratchOf } from "./phases.ts";
import { RowPlaces } from "./row-places.ts";
import { RowValues, type Computed } from "./row-values.ts";
import { combine, type Sums } from "./totals.ts";

const WIDTH = 4;
const BYTES = 4;

export interface CompiledKernel {
  (...addresses: number[]): void;
}

/** Compiles kernels into one module, for memory of that kind. */
export function compileKernels(kernels: readonly Kernel[], memory: MemoryKind): WebAssembly.Module {
  const functions = kernels.map((kernel, i) => compileKernel(kernel, String(i), memory.address));
  return new WebAssembly.Module(assemble(functions, memory));
}

/** The functions of a module over `memory`, in the order of its kernels. */
export function bindKernels(module: WebAssembly.Module, memory: WebAssembly.Memory): (index: number) => CompiledKernel {
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  return (index) => exports[String(index)] as CompiledKernel;
}

function compileKernel(kernel: Kernel, name: string, pointer: Address): WasmFunction {
  const code = new Code(kernel.buffers + 1, kernel.ranged ? 2 : 0, pointer);
  for (const { buffer, length, fn, dtype } of kernel.clear ?? []) {
    fill(code, code.address(buffer), length, neutral(fn, dtype), dtype);
  }
  const range = kernel.ranged && {
    loop: kernel.ranged,
    begin: code.count(0),
    count: code.count(1),
  };
  const places = new RowPlaces(code, kernel, range);
  const values = new RowValues(code, kernel, places, scratchOf(kernel), code.address(kernel.buffers));
  loops(code, kernel.outer, 0, places, () => {
    values.enterRow();
    for (const phase of phasesOf(kernel)) emitPhase(code, values, places, phase);
  });
  return { name, params: code.params, locals: code.locals, body: code.bytes };
}

/** The outer loops, from dimension `axis` on: after each round every pointer goes one stride further. */
function loops(code: Code, sizes: readonly number[], axis: number, places: RowPlaces, body: () => void): void {
  if (axis === sizes.length) return body();
  places.resetOuter(axis);
  code.repeat(places.countOf("outer", axis) ?? sizes[axis]!, () => {
    loops(code, sizes, axis + 1, places, body);
    places.advanceOuter(axis, 1);
  });
  // After the outermost loop nobody asks where the pointers stand.
  if (axis > 0) places.advanceOuter(axis, -sizes[axis]!);
}

/**
 * The inner loops of a phase: four places at a time where that can be, then what is left one by one. Where it cannot be,
 * a sum is still four sums side by side: in which order numbers are added must not depend on what else a kernel does.
 */
function emitPhase(code: Code, values: RowValues, rows: RowPlaces, phase: Phase): void {
  const { inner } = phase.statements[0]!.statement;
  const last = inner.length - 1;
  const length = inner[last] ?? 1;
  values.choose(phase);
  const wide = length >= WIDTH && values.canBeWide();
  const row = values.enterPhase(wide);
  const inFour = !wide && length >= WIDTH && phase.statements.some(({ statement }) => statement.kind === "reduce");
  const sums = wide ? "wide" : inFour ? "four" : "one";
  const sinks = phase.statements.map((each) => makeSink(code, values, each, sums, otherOf(each, phase)));
  const place = (lane: Lane, total?: number): void => {
    const results = row.evaluate(lane);
    for (const [i, sink] of sinks.entries()) sink(lane, results[i]!, results, total);
    row.advance(last, lane.wide ? WIDTH : 1);
  };
  const places = (count: number | Local, lane: Lane): void => {
    if (count === 0) return;
    code.repeat(count, () => place(lane));
  };
  const nest = (axis: number): void => {
    row.reset(axis);
    if (axis === last) {
      const count = rows.countOf("inner", axis);
      if (count && wide) {
        places(code.get(count).i32(2).op("i32.shr_u").keep("i32"), new Lane(code, true));
        // Ranges are whole vectors but for the last one's.
        if (length % WIDTH > 0) places(code.get(count).i32(3).op("i32.and").keep("i32"), new Lane(code, false));
      } else {
        const rounds = wide || inFour ? Math.floor(length / WIDTH) : 0;
        if (wide) places(rounds, new Lane(code, true));
        else if (inFour)
          code.repeat(rounds, () => [0, 1, 2, 3].forEach((total) => place(new Lane(code, false), total)));
        places(count ?? length - rounds * WIDTH, new Lane(code, false));
      }
    } else {
      code.repeat(rows.countOf("inner", axis) ?? inner[axis]!, () => {
        nest(axis + 1);
        row.advance(axis, 1);
      });
    }
    // Behind the outermost loop the pointers are recomputed.
    if (axis > 0) row.advance(axis, -inner[axis]!);
  };
  if (last < 0) places(1, new Lane(code, false));
  else nest(0);
  values.leavePhase();
}

/** The other of two stores that write every other number each: its place in the phase, and how much further it begins. */
interface Other {
  readonly place: number;
  readonly further: number;
}

function otherOf({ statement }: Placed, { statements }: Phase): Other | undefined {
  if (statement.kind !== "store" || statement.to.at || statement.to.inner.at(-1) !== 2) return undefined;
  const { buffer, offset, outer, inner } = statement.to;
  for (const [place, { statement: other }] of statements.entries()) {
    if (other.kind !== "store" || other.to.buffer !== buffer || other.to.at) continue;
    const further = other.to.offset - offset;
    const isSame = other.to.outer.join() === outer.join() && other.to.inner.join() === inner.join();
    if (isSame && Math.abs(further) === 1) return { place, further };
  }
  return undefined;
}

/** `all` are what the statements of the phase have computed; `total` is which of four sums takes the value. */
type Sink = (lane: Lane, computed: Computed, all: readonly Computed[], total?: number) => void;

/** What happens with the value of each place. */
function makeSink(code: Code, values: RowValues, { statement, index }: Placed, sums: Sums, other?: Other): Sink {
  const dtype = values.dtypeOf(statement.value);
  switch (statement.kind) {
    case "store":
      return (lane, { value, target }, all) => {
        const stored = inMemory(lane, value, dtype);
        const stride = lane.wide ? statement.to.inner.at(-1)! : 1;
        if (stride === 1) code.get(target!).get(stored).store(lane.type(dtype));
        else if (!other) code.storeApart(target!, stored, stride);
        // The first of the two writes both.
        else if (other.further === 1) code.storeInTurn(target!, stored, inMemory(lane, all[other.place]!.value, dtype));
      };
    case "keep":
      return (lane, { value, target }) => {
        if (target)
          code
            .get(target)
            .get(inMemory(lane, value, dtype))
            .store(lane.type(dtype));
      };
    case "accumulate":
      return (lane, { value, target }) => {
        const before = code.get(target!).load(lane.type(dtype)).keep(lane.type(dtype));
        const after = combine(lane, statement.fn, before, inMemory(lane, value, dtype), dtype);
        code.get(target!).get(after).store(lane.type(dtype));
      };
  }
  const totals = values.startReduction(index, statement.fn, dtype, sums);
  return (lane, { value }, _, which) => {
    if (lane.wide && totals.nans) {
      code.get(lane.f(statement.fn === "max" ? "pmax" : "pmin", totals.wide!, value)).set(totals.wide!);
      code.get(lane.bits("or", totals.nans, lane.f("ne", value, value))).set(totals.nans);
      return;
    }
    const total = lane.wide ? totals.wide! : which === undefined ? totals.single : totals.four[which]!;
    const next = combine(lane, statement.fn, total, inMemory(lane, value, dtype), dtype);
    code.get(next).set(total);
  };
}

/** As memory has it: truth values are 0 or 1. */
const inMemory = (lane: Lane, value: Local, dtype: DType): Local => (dtype === "bool" ? lane.boolToInt(value) : value);

function fill(code: Code, address: Local, length: number, value: number, dtype: DType): void {
  if (Object.is(value, 0)) return void code.clearBytes(address, length * BYTES);
  const at = code.get(address).keep(code.pointer);
  code.repeat(length, () => {
    code.get(at);
    if (dtype === "float32") code.f32(value).store("f32");
    else code.i32(value).store("i32");
    code.advance(at, BYTES);
  });
}
