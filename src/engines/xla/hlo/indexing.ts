// Rows taken by index and put back, sorting, and arrays that are put together.
import type { Arg, Graph, Node } from "../../lower/graph.ts";
import { isWhole, sameShape } from "../../lower/view.ts";
import { isFloat, tensor, typeOf, type Shape, type Value } from "./types.ts";
import { region, type HloWriter } from "./writer.ts";

/** Rows of `table` along its first axes, as many as there are indices. */
export function gather(writer: HloWriter, table: Value, indices: readonly Value[]): Value {
  const { coordinates, place } = together(writer, indices);
  const rest = table.shape.slice(indices.length);
  const shape = [...place, ...rest];
  const axes = [...indices.keys()].join(", ");
  const offsets = rest.map((_, i) => place.length + i).join(", ");
  const sizes = [...indices.map(() => 1), ...rest].join(", ");
  const dimensions = `#stablehlo.gather<offset_dims = [${offsets}], collapsed_slice_dims = [${axes}], start_index_map = [${axes}], index_vector_dim = ${place.length}>`;
  return writer.emit(
    `"stablehlo.gather"(${table.name}, ${coordinates.name}) <{dimension_numbers = ${dimensions}, indices_are_sorted = false, slice_sizes = array<i64: ${sizes}>}> : (${typeOf(table)}, ${typeOf(coordinates)}) -> ${tensor(shape, table.type)}`,
    shape,
    table.type,
  );
}

/** `into`, with rows put or added where the indices say. */
export function scatter(
  writer: HloWriter,
  rows: Value,
  indices: readonly Value[],
  into: Value,
  options: { readonly adds: boolean },
): Value {
  const { coordinates, place } = together(writer, indices);
  const { shape } = into;
  const axes = [...indices.keys()].join(", ");
  const windows = shape
    .slice(indices.length)
    .map((_, i) => place.length + i)
    .join(", ");
  const dimensions = `#stablehlo.scatter<update_window_dims = [${windows}], inserted_window_dims = [${axes}], scatter_dims_to_operand_dims = [${axes}], index_vector_dim = ${place.length}>`;
  const combine = !options.adds ? "second" : rows.type === "i1" ? "or" : "add";
  return writer.emit(
    `"stablehlo.scatter"(${into.name}, ${coordinates.name}, ${rows.name}) <{indices_are_sorted = false, scatter_dimension_numbers = ${dimensions}, unique_indices = false}> ${region(combine, rows.type)} : (${typeOf(into)}, ${typeOf(coordinates)}, ${typeOf(rows)}) -> ${typeOf(into)}`,
    shape,
    rows.type,
  );
}

/** The coordinates of a place side by side. */
function together(writer: HloWriter, indices: readonly Value[]): { coordinates: Value; place: Shape } {
  const place = indices[0]!.shape;
  const columns = indices.map((index) => writer.reshape(index, [...place, 1]));
  return { coordinates: writer.concatenate(columns, place.length), place };
}

/** Puts each value at its place; what none of them covers is 0. Places do not overlap. */
export function assemble(writer: HloWriter, values: readonly Value[], places: readonly Shape[], shape: Shape): Value {
  const axis = concatenationAxis(values, places, shape);
  if (axis !== undefined) return writer.concatenate(values, axis);
  const padded = values.map((value, i) => writer.pad(value, places[i]!, shape));
  return padded.reduce((sum, part) => writer.binary(sum.type === "i1" ? "or" : "add", sum, part));
}

/** The axis along which the values follow each other and fill the result; undefined when they do not. */
function concatenationAxis(values: readonly Value[], places: readonly Shape[], shape: Shape): number | undefined {
  const axis = shape.findIndex((n, i) => values.some((value) => value.shape[i] !== n));
  if (axis < 0) return undefined;
  let at = 0;
  for (const [i, value] of values.entries()) {
    const isNext = places[i]!.every((place, d) => place === (d === axis ? at : 0));
    if (!isNext || value.shape.some((n, d) => d !== axis && n !== shape[d])) return undefined;
    at += value.shape[axis]!;
  }
  return at === shape[axis] ? axis : undefined;
}

/** Along the last axis: smallest first, NaN last, equal ones as they were. */
export function sort(writer: HloWriter, value: Value): { sorted: Value; order: Value } {
  const axis = value.shape.length - 1;
  const position = writer.iota(value.shape, axis, "i32");
  const key = isFloat(value.type) ? canonical(writer, value) : value;
  const scalar = tensor([], value.type);
  const index = tensor([], "i32");
  const kind = isFloat(value.type) ? "TOTALORDER" : value.type === "i32" ? "SIGNED" : "UNSIGNED";
  const comparator = [
    "({",
    `  ^bb0(%a: ${scalar}, %b: ${scalar}, %i: ${index}, %j: ${index}):`,
    `    %c = stablehlo.compare LT, %a, %b, ${kind} : (${scalar}, ${scalar}) -> tensor<i1>`,
    "    stablehlo.return %c : tensor<i1>",
    "  })",
  ].join("\n");
  const types = `${typeOf(key)}, ${typeOf(position)}`;
  const [sorted, order] = writer.emitAll(
    `"stablehlo.sort"(${key.name}, ${position.name}) <{dimension = ${axis} : i64, is_stable = true}> ${comparator} : (${types}) -> (${types})`,
    [key, position],
  );
  return { sorted: sorted!, order: order! };
}

/** One NaN and one zero, since the total order tells their signs apart. */
function canonical(writer: HloWriter, value: Value): Value {
  const at = (number: number): Value => writer.constant(number, value.shape, value.type);
  const oneZero = writer.select(writer.compare("EQ", value, at(0)), at(0), value);
  return writer.select(writer.compare("NE", value, value), at(Number.NaN), oneZero);
}

type Scatter = Extract<Node, { op: "scatter" }>;

/**
 * Scatters of which nothing else is seen than their sum with another array, by that sum: their rows are added to that array,
 * instead of to zeros that must be written and read. The gradient of an embedding that is the last layer too is one.
 */
export function scattersIntoSums({ nodes, outputs }: Graph): ReadonlyMap<Node, Scatter> {
  const uses = new Map<Node, number>();
  const count = ({ node }: Arg): void => void uses.set(node, (uses.get(node) ?? 0) + 1);
  for (const node of nodes) if ("args" in node) node.args.forEach(count);
  outputs.forEach(count);
  const found = new Map<Node, Scatter>();
  for (const node of nodes) {
    if (node.op !== "map" || node.fn !== "add" || node.dtype === "bool") continue;
    const own = node.args.find(({ node: arg, view }) => {
      const isAlone = uses.get(arg) === 1 && arg.op === "scatter" && arg.adds;
      return isAlone && isWhole(view) && sameShape(view.shape, arg.shape);
    });
    if (own) found.set(node, own.node as Scatter);
  }
  return found;
}
