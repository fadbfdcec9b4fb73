// A forward program and its weights as an ONNX model.
import type { DType } from "../../core/arrays.ts";
import { ProgramError } from "../../core/errors.ts";
import type { HostTensors } from "../../core/model.ts";
import type { Constant, Equation, ForwardProgram, NamedArray, Operand } from "../program.ts";
import { arrayOf, GraphBuilder, type Value } from "./graph.ts";
import { encodeModel, type OnnxType } from "./model-proto.ts";
import { OPERATORS } from "./operators.ts";

/** The bytes of a .onnx file, in parts. */
export function programToOnnx(program: ForwardProgram, weights: HostTensors): Uint8Array[] {
  const graph = new GraphBuilder();
  const values: (Value | undefined)[] = [];
  const used = new Set(
    program.equations.flatMap((equation) => equation.in).concat(program.outputs.map(({ of }) => of)),
  );
  for (const { name, shape, dtype } of program.inputs)
    values.push(graph.cast(graph.input(name, shape, dtype), onnxType(dtype)));
  const outputs = graph.reserve(program.outputs.map(({ name }) => name));
  const keep = (make: () => Value): void => void values.push(used.has(values.length) ? make() : undefined);
  for (const array of [...program.params, ...program.buffers]) keep(() => weight(graph, array, weights));
  for (const constant of program.constants) keep(() => constantValue(graph, constant));
  const valueOf = (operand: Operand): Value =>
    typeof operand === "number" ? values[operand]! : graph.scalar(operand.value, onnxType(operand.dtype));
  for (const equation of program.equations) {
    graph.layer = program.layers[equation.layer] ?? "";
    values.push(...lowered(graph, equation, equation.in.map(valueOf)));
  }
  for (const [i, { of }] of program.outputs.entries())
    graph.output(outputs[i]!, restored(graph, program, of, values[of]!));
  const parts = encodeModel(graph.graph());
  if (parts) return parts;
  throw new ProgramError(
    "Cannot export to ONNX: a file has at most 2 GB, and the weights have more. Use --format hookline.",
  );
}

/** Runtimes compute little with uint32: as int64 its numbers are exact. */
const onnxType = (dtype: DType): OnnxType => (dtype === "uint32" ? "int64" : dtype);

function lowered(graph: GraphBuilder, { op, params, out }: Equation, args: readonly Value[]): readonly Value[] {
  const where = graph.layer === "" ? "the model" : `layer \`${graph.layer}\``;
  const fail = (why: string): never => {
    throw new ProgramError(`Cannot export to ONNX: ${where} has ${why}. Use --format hookline, which has everything.`);
  };
  const operator = Object.hasOwn(OPERATORS, op)
    ? OPERATORS[op]!
    : fail(`the operation \`${op}\`, which ONNX does not have`);
  const { shape, dtype } = out[0]!;
  return operator.lower({ graph, args, params, out, shape, dtype: onnxType(dtype), fail });
}

/** A result as the model returns it. */
function restored(graph: GraphBuilder, program: ForwardProgram, of: number, value: Value): Value {
  const { inputs, params, buffers, constants, equations } = program;
  const types = [...inputs, ...params, ...buffers, ...constants, ...equations.flatMap(({ out }) => out)];
  return graph.cast(value, types[of]!.dtype);
}

function weight(graph: GraphBuilder, { name, shape, dtype }: NamedArray, weights: HostTensors): Value {
  const found = weights[name];
  if (found?.shape.join() !== shape.join())
    throw new ProgramError(
      `The weights do not fit the model: \`${name}\` should have the shape [${shape.join(", ")}], got ${found ? `[${found.shape.join(", ")}]` : "none"}.`,
    );
  const type = onnxType(dtype);
  const isPlain = dtype === "float32" && found.data instanceof Float32Array;
  const data = isPlain ? found.data : arrayOf(type, Array.from(found.data));
  return graph.tensor(name, data, found.shape, type);
}

function constantValue(graph: GraphBuilder, constant: Constant): Value {
  const { shape } = constant;
  const dtype = onnxType(constant.dtype);
  if ("fill" in constant) return graph.expand(graph.scalar(constant.fill, dtype), shape);
  if ("data" in constant) {
    const data = constant.data instanceof Float32Array ? constant.data : arrayOf(dtype, Array.from(constant.data));
    return graph.tensor("constant", data, shape as readonly number[], dtype);
  }
  const { axis, start } = constant;
  const along = shape.map((size, i) => (i === axis ? size : 1));
  return graph.expand(graph.reshape(counted(graph, shape[axis]!, start, dtype), along), shape);
}

/** start, start + 1, … */
function counted(graph: GraphBuilder, size: number | string, start: number, dtype: OnnxType): Value {
  if (typeof size === "number") {
    const values = Array.from({ length: size }, (_, i) => start + i);
    return graph.tensor("count", arrayOf(dtype, values), [size], dtype);
  }
  const [from, one] = [graph.scalar(0, "int64"), graph.scalar(1, "int64")];
  const count = graph.reshape(graph.sizes([size]), []);
  const range = graph.cast(graph.node("Range", [from, count, one], [size], "int64"), dtype);
  return graph.node("Add", [range, graph.scalar(start, dtype)], [size], dtype);
}
