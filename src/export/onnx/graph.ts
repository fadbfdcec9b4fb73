// Builds an ONNX graph: values with their shapes, nodes, and sizes that are only known when the model runs.
import type { TypedArray } from "../../core/arrays.ts";
import { parseDim, type Dim } from "../program.ts";
import {
  elementType,
  type OnnxGraph,
  type OnnxNode,
  type OnnxTensor,
  type OnnxType,
  type OnnxValue,
} from "./model-proto.ts";

export interface Value extends OnnxValue {
  /** The value that this one is another shape of. */
  readonly reshaped?: Value;
  /** The value that this one is the negative of. */
  readonly negated?: Value;
}

type Attributes = OnnxNode["attributes"];
/** In a shape: the size that follows from the others. */
const INFER = -1;

export class GraphBuilder {
  readonly #nodes: OnnxNode[] = [];
  readonly #initializers: OnnxTensor[] = [];
  readonly #inputs: OnnxValue[] = [];
  readonly #outputs: OnnxValue[] = [];
  readonly #names = new Set<string>();
  readonly #constants = new Map<string, Value>();
  /** Sizes that depend on the rows, as vectors of one number. */
  readonly #sizes = new Map<string, Value>();
  /** Where nodes belong, for their names. */
  layer = "";

  graph(): OnnxGraph {
    return { nodes: this.#nodes, initializers: this.#initializers, inputs: this.#inputs, outputs: this.#outputs };
  }

  input(name: string, shape: readonly Dim[], dtype: OnnxType): Value {
    const value = { name: this.#free(name), shape, dtype };
    this.#inputs.push(value);
    return value;
  }

  /** Names of results are those of the model: reserve them before anything else takes them. */
  reserve(names: readonly string[]): string[] {
    return names.map((name) => this.#free(name));
  }

  output(name: string, value: Value): void {
    this.#nodes.push({ op: "Identity", name: `${name}/result`, inputs: [value.name], outputs: [name], attributes: {} });
    this.#outputs.push({ name, shape: value.shape, dtype: value.dtype });
  }

  tensor(name: string, data: TypedArray | BigInt64Array, shape: readonly number[], dtype: OnnxType): Value {
    const free = this.#free(name);
    this.#initializers.push({ name: free, data, shape, dtype });
    return { name: free, shape, dtype };
  }

  /** A node with one result. */
  node(
    op: string,
    inputs: readonly Value[],
    shape: readonly Dim[],
    dtype: OnnxType,
    attributes: Attributes = {},
  ): Value {
    return this.nodes(op, inputs, [{ shape, dtype }], attributes)[0]!;
  }

  nodes(
    op: string,
    inputs: readonly Value[],
    outs: readonly Pick<OnnxValue, "shape" | "dtype">[],
    attributes: Attributes = {},
  ): Value[] {
    const name = this.#free(`${this.layer}/${op}`);
    const values = outs.map(({ shape, dtype }, i) => ({ name: i === 0 ? name : this.#free(name), shape, dtype }));
    const outputs = values.map((value) => value.name);
    this.#nodes.push({ op, name, inputs: inputs.map((value) => value.name), outputs, attributes });
    return values;
  }

  scalar(value: number, dtype: OnnxType): Value {
    return this.#constant(`${dtype} ${Object.is(value, -0) ? "-0" : value}`, () => {
      const data = arrayOf(dtype, [value]);
      return this.tensor("scalar", data, [], dtype);
    });
  }

  /** A vector of whole numbers, such as axes and static shapes. */
  whole(values: readonly number[]): Value {
    return this.#constant(`[${values.join()}]`, () => {
      return this.tensor("sizes", arrayOf("int64", values), [values.length], "int64");
    });
  }

  /** A vector of sizes, computed when the model runs where they depend on the rows. */
  sizes(dims: readonly Dim[]): Value {
    if (dims.every((dim) => typeof dim === "number")) return this.whole(dims);
    const parts = dims.map((dim) => (typeof dim === "number" ? this.whole([dim]) : this.#size(dim)));
    return parts.length === 1 ? parts[0]! : this.node("Concat", parts, [dims.length], "int64", { axis: 0 });
  }

  reshape(value: Value, shape: readonly Dim[]): Value {
    const from = value.reshaped ?? value;
    if (sameShape(from.shape, shape)) return from;
    if (sameShape(value.shape, shape)) return value;
    const free = shape.filter((dim) => typeof dim !== "number");
    // One size may be left open; with a size of 0 it would have no meaning.
    const target =
      free.length <= 1 && !shape.includes(0)
        ? this.whole(shape.map((dim) => (typeof dim === "number" ? dim : INFER)))
        : this.sizes(shape);
    const attributes: Attributes = shape.includes(0) ? { allowzero: 1 } : {};
    return { ...this.node("Reshape", [from, target], shape, value.dtype, attributes), reshaped: from };
  }

  transpose(value: Value, order: readonly number[]): Value {
    if (order.every((axis, i) => axis === i)) return value;
    const shape = order.map((axis) => value.shape[axis]!);
    return this.node("Transpose", [value], shape, value.dtype, { perm: order });
  }

  expand(value: Value, shape: readonly Dim[]): Value {
    return sameShape(value.shape, shape) ? value : this.node("Expand", [value, this.sizes(shape)], shape, value.dtype);
  }

  cast(value: Value, dtype: OnnxType): Value {
    if (value.dtype === dtype) return value;
    return this.node("Cast", [value], value.shape, dtype, { to: elementType(dtype) });
  }

  /** a·rows + b as a vector of one number. */
  #size(dim: string): Value {
    const known = this.#sizes.get(dim);
    if (known) return known;
    const { perRow, fixed } = parseDim(dim)!;
    const input = this.#inputs.find(({ shape }) => shape[0] === "n")!;
    let size = this.#sizes.get("n") ?? this.node("Shape", [input], [1], "int64", { start: 0, end: 1 });
    this.#sizes.set("n", size);
    if (perRow !== 1) size = this.node("Mul", [size, this.whole([perRow])], [1], "int64");
    if (fixed !== 0) size = this.node("Add", [size, this.whole([fixed])], [1], "int64");
    this.#sizes.set(dim, size);
    return size;
  }

  #constant(key: string, make: () => Value): Value {
    let value = this.#constants.get(key);
    if (!value) this.#constants.set(key, (value = make()));
    return value;
  }

  #free(wanted: string): string {
    let name = wanted;
    for (let i = 1; name === "" || this.#names.has(name); i++) name = `${wanted}_${i}`;
    this.#names.add(name);
    return name;
  }
}

export const sameShape = (a: readonly Dim[], b: readonly Dim[]): boolean =>
  a.length === b.length && a.every((dim, i) => dim === b[i]);

export function arrayOf(dtype: OnnxType, values: readonly number[]): TypedArray | BigInt64Array {
  if (dtype === "int64") return BigInt64Array.from(values, (value) => BigInt(value));
  if (dtype === "float32") return Float32Array.from(values);
  return dtype === "uint32" ? Uint32Array.from(values) : Int32Array.from(values);
}
