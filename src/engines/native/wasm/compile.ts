// Compiles a kernel to one wasm function. Its parameters are the buffers' addresses, then that of its scratch memory.
import type { DType, ReduceOp } from "../../lower/graph.ts";
import type { Kernel } from "../kernel.ts";
import { Code, type Local } from "./code.ts";
import { Lane } from "./lane.ts";
import { emitMap, neutral } from "./maps.ts";
import { assemble, type WasmFunction } from "./module.ts";
import { phasesOf, type Phase, type Placed } from "./phases.ts";
import { RowValues, type Computed } from "./row-values.ts";
import { scratchOf } from "./scratch.ts";

const WIDTH = 4;
const BYTES = 4;

export interface CompiledKernel {
  (...addresses: number[]): void;
}

/** Compiles kernels into one module over `memory`. */
export function compileKernels(kernels: readonly Kernel[], memory: WebAssembly.Memory): CompiledKernel[] {
  const functions = kernels.map((kernel, i) => compileKernel(kernel, `k${i}`));
  const module = new WebAssembly.Module(assemble(functions));
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  return functions.map(({ name }) => exports[name] as CompiledKernel);
}

export function compileKernel(kernel: Kernel, name: string): WasmFunction {
  const params = kernel.buffers + 1;
  const code = new Code(params);
  for (const { buffer, length, fn, dtype } of kernel.clear ?? []) {
    fill(code, code.param(buffer), length, neutral(fn, dtype), dtype);
  }
  const values = new RowValues(code, kernel, scratchOf(kernel), code.param(kernel.buffers));
  values.begin();
  loops(code, kernel.outer, 0, values, () => {
    values.enterRow();
    for (const phase of phasesOf(kernel)) emitPhase(code, values, phase);
  });
  return { name, params, locals: code.locals, body: code.bytes };
}

/** The outer loops, from dimension `axis` on: after each round every pointer goes one stride further. */
function loops(code: Code, sizes: readonly number[], axis: number, values: RowValues, body: () => void): void {
  if (axis === sizes.length) return body();
  values.resetOuter(axis);
  code.repeat(sizes[axis]!, () => {
    loops(code, sizes, axis + 1, values, body);
    values.advanceOuter(axis, 1);
  });
  values.advanceOuter(axis, -sizes[axis]!);
}

/** The inner loops of a phase: four places at a time where that can be, then what is left one by one. */
function emitPhase(code: Code, values: RowValues, phase: Phase): void {
  const { inner } = phase.statements[0]!.statement;
  const last = inner.length - 1;
  const length = inner[last] ?? 1;
  values.choose(phase);
  const wide = length >= WIDTH && values.canBeWide();
  const row = values.enterPhase(wide);
  const sinks = phase.statements.map((each) => makeSink(code, values, each, wide));
  const places = (count: number, lane: Lane): void => {
    if (count === 0) return;
    code.repeat(count, () => {
      const results = row.evaluate(lane);
      for (const [i, sink] of sinks.entries()) sink(lane, results[i]!);
      row.advance(last, lane.wide ? WIDTH : 1);
    });
  };
  const nest = (axis: number): void => {
    row.reset(axis);
    if (axis === last) {
      const rounds = wide ? Math.floor(length / WIDTH) : 0;
      places(rounds, new Lane(code, true));
      places(length - rounds * WIDTH, new Lane(code, false));
    } else {
      code.repeat(inner[axis]!, () => {
        nest(axis + 1);
        row.advance(axis, 1);
      });
    }
    row.advance(axis, -inner[axis]!);
  };
  if (last < 0) places(1, new Lane(code, false));
  else nest(0);
  values.leavePhase();
}

type Sink = (lane: Lane, computed: Computed) => void;

/** What happens with the value of each place. */
function makeSink(code: Code, values: RowValues, { statement, index }: Placed, wide: boolean): Sink {
  const dtype = values.dtypeOf(statement.value);
  switch (statement.kind) {
    case "store":
    case "keep":
      return (lane, { value, target }) => {
        const stored = inMemory(lane, value, dtype);
        code.get(target!).get(stored).store(lane.type(dtype));
      };
    case "accumulate":
      return (lane, { value, target }) => {
        const before = code.get(target!).load(lane.type(dtype)).keep(lane.type(dtype));
        const after = combine(lane, statement.fn, before, inMemory(lane, value, dtype), dtype);
        code.get(target!).get(after).store(lane.type(dtype));
      };
    case "reduce": {
      const totals = values.startReduction(index, statement.fn, dtype, wide);
      return (lane, { value }) => {
        const total = lane.wide ? totals.wide! : totals.single;
        const next = combine(lane, statement.fn, total, inMemory(lane, value, dtype), dtype);
        code.get(next).set(total);
      };
    }
  }
}

/** As memory has it: truth values are 0 or 1. */
const inMemory = (lane: Lane, value: Local, dtype: DType): Local => (dtype === "bool" ? lane.boolToInt(value) : value);

/** Truth values are combined as the numbers 0 and 1. */
export function combine(lane: Lane, fn: ReduceOp, a: Local, b: Local, dtype: DType): Local {
  const type = dtype === "bool" ? "int32" : dtype;
  return emitMap(lane, fn, [a, b], type, type);
}

function fill(code: Code, address: Local, length: number, value: number, dtype: DType): void {
  const at = code.get(address).keep("i32");
  code.repeat(length, () => {
    code.get(at);
    if (dtype === "float32") code.f32(value).store("f32");
    else code.i32(value).store("i32");
    code.advance(at, BYTES);
  });
}
