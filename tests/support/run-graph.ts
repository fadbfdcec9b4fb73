// Runs a graph number by number, slowly and obviously: what compiled graphs are compared with.
import { threefry } from "../../src/nn/key.ts";
import type { Arg, DType, Graph, MapOp, Node, ReduceOp } from "../../src/engines/lower/graph.ts";
import { sizeOf } from "../../src/core/arrays.ts";
import { rowMajor, type View } from "../../src/engines/lower/view.ts";

/** Calls `visit` with every place of a shape. */
function eachPlace(shape: readonly number[], visit: (place: number[], n: number) => void): void {
  const strides = rowMajor(shape);
  for (let n = 0; n < sizeOf(shape); n++) {
    visit(
      strides.map((stride, i) => Math.floor(n / stride) % shape[i]!),
      n,
    );
  }
}

const at = ({ strides, offset }: View, place: readonly number[]): number =>
  place.reduce((sum, coordinate, i) => sum + coordinate * strides[i]!, offset);

export function round(value: number, dtype: DType): number {
  if (dtype === "float32") return Math.fround(value);
  if (dtype === "bool") return Number(value !== 0);
  return dtype === "int32" ? value | 0 : value >>> 0;
}

const bits = new DataView(new ArrayBuffer(4));

const MAPS: Record<MapOp, (args: number[], from: DType, to: DType) => number> = {
  copy: ([a]) => a!,
  add: ([a, b]) => a! + b!,
  sub: ([a, b]) => a! - b!,
  mul: ([a, b], _, to) => (to === "float32" ? a! * b! : Math.imul(a!, b!)),
  idiv: ([a, b]) => Math.trunc(a! / b!),
  mod: ([a, b]) => a! % b!,
  min: ([a, b]) => Math.min(a!, b!),
  max: ([a, b]) => Math.max(a!, b!),
  neg: ([a]) => -a!,
  reciprocal: ([a]) => 1 / a!,
  floor: ([a]) => Math.floor(a!),
  ceil: ([a]) => Math.ceil(a!),
  sqrt: ([a]) => Math.sqrt(a!),
  exp: ([a]) => Math.exp(a!),
  log: ([a]) => Math.log(a!),
  sin: ([a]) => Math.sin(a!),
  cos: ([a]) => Math.cos(a!),
  asin: ([a]) => Math.asin(a!),
  atan: ([a]) => Math.atan(a!),
  erf: ([a]) => 1 - erfc(a!),
  erfc: ([a]) => erfc(a!),
  and: ([a, b]) => a! & b!,
  or: ([a, b]) => a! | b!,
  xor: ([a, b]) => a! ^ b!,
  shl: ([a, b]) => a! << b!,
  shr: ([a, b], _, to) => (to === "uint32" ? a! >>> b! : a! >> b!),
  bitcount: ([a]) => (a! >>> 0).toString(2).replaceAll("0", "").length,
  less: ([a, b]) => Number(a! < b!),
  lessEqual: ([a, b]) => Number(a! <= b!),
  equal: ([a, b]) => Number(a === b),
  notEqual: ([a, b]) => Number(a !== b),
  where: ([condition, a, b]) => (condition ? a! : b!),
  cast: ([a], from, to) => (from === "float32" && to !== "float32" && to !== "bool" ? saturate(a!, to) : a!),
  bitcast: ([a], from, to) => {
    bits[from === "float32" ? "setFloat32" : from === "int32" ? "setInt32" : "setUint32"](0, a!);
    return bits[to === "float32" ? "getFloat32" : to === "int32" ? "getInt32" : "getUint32"](0);
  },
};

const saturate = (value: number, to: DType): number => {
  const [low, high] = to === "int32" ? [-(2 ** 31), 2 ** 31 - 1] : [0, 2 ** 32 - 1];
  return Number.isNaN(value) ? 0 : Math.min(Math.max(Math.trunc(value), low), high);
};

/** By its continued fraction for large arguments, by its series for small ones. */
function erfc(x: number): number {
  if (x < 0) return 2 - erfc(-x);
  if (x < 2.5) {
    let term = x;
    let sum = x;
    for (let n = 1; n < 80; n++) {
      term *= (-x * x) / n;
      sum += term / (2 * n + 1);
    }
    return 1 - (2 / Math.sqrt(Math.PI)) * sum;
  }
  let fraction = x;
  for (let n = 60; n > 0; n--) fraction = x + n / 2 / fraction;
  return Math.exp(-x * x) / (Math.sqrt(Math.PI) * fraction);
}

const NEUTRAL: Record<ReduceOp, (dtype: DType) => number> = {
  add: () => 0,
  mul: () => 1,
  min: (dtype) => (dtype === "float32" ? Infinity : dtype === "uint32" ? 2 ** 32 - 1 : 2 ** 31 - 1),
  max: (dtype) => (dtype === "float32" ? -Infinity : dtype === "uint32" ? 0 : -(2 ** 31)),
};

export function runGraph(graph: Graph, inputs: readonly ArrayLike<number>[]): number[][] {
  const values = new Map<Node, number[]>();
  const read = ({ node, view }: Arg, place: readonly number[]): number => values.get(node)![at(view, place)]!;
  for (const node of graph.nodes) values.set(node, compute(node));
  return graph.outputs.map((arg) => {
    const out: number[] = [];
    eachPlace(arg.view.shape, (place) => out.push(read(arg, place)));
    return out;
  });

  function compute(node: Node): number[] {
    const { shape, dtype } = node;
    const out = Array.from({ length: sizeOf(shape) }, () => 0);
    const put = (place: readonly number[], value: number, combine = (_: number, b: number) => b): void => {
      const strides = rowMajor(shape);
      const n = place.reduce((sum, coordinate, i) => sum + coordinate * strides[i]!, 0);
      out[n] = round(combine(out[n]!, value), dtype);
    };
    const add = (a: number, b: number): number => a + b;
    switch (node.op) {
      case "input":
        return Array.from(inputs[node.index]!, Number);
      case "constant":
        return Array.from(node.data, Number);
      case "literal":
        return out.fill(node.value);
      case "iota":
        eachPlace(shape, (place) => put(place, place[node.axis]!));
        return out;
      case "map":
        eachPlace(shape, (place) => {
          const args = node.args.map((arg) => read(arg, place));
          put(place, MAPS[node.fn](args, node.args[0]!.node.dtype, dtype));
        });
        return out;
      case "reduce": {
        const [arg] = node.args;
        out.fill(NEUTRAL[node.fn](dtype));
        eachPlace(arg.view.shape, (place) =>
          put(
            place.filter((_, i) => !node.axes.includes(i)),
            read(arg, place),
            (a, b) => MAPS[node.fn]([a, b], dtype, dtype),
          ),
        );
        return out;
      }
      case "dot": {
        const [x, y] = node.args;
        eachPlace(x.view.shape, (place) => put(place.slice(0, -1), read(x, place) * read(y, place), add));
        return out;
      }
      case "assemble":
        for (const [i, arg] of node.args.entries()) {
          eachPlace(arg.view.shape, (place) =>
            put(
              place.map((coordinate, axis) => coordinate + node.places[i]![axis]!),
              read(arg, place),
            ),
          );
        }
        return out;
      case "gather": {
        const [table, ...indices] = node.args;
        const rank = indices[0]!.view.shape.length;
        eachPlace(shape, (place) => {
          const row = indices.map((index) => read(index, place.slice(0, rank)));
          put(place, read(table, [...row, ...place.slice(rank)]));
        });
        return out;
      }
      case "scatter": {
        const [rows, ...indices] = node.args;
        const rank = indices[0]!.view.shape.length;
        eachPlace(rows.view.shape, (place) => {
          const row = indices.map((index) => read(index, place.slice(0, rank)));
          put([...row, ...place.slice(rank)], read(rows, place), node.adds ? add : undefined);
        });
        return out;
      }
      case "windowsAdd": {
        const [arg] = node.args;
        const kept = shape.length - node.window.length;
        eachPlace(arg.view.shape, (place) => {
          const inside = place.slice(shape.length);
          put(
            place
              .slice(0, shape.length)
              .map((n, i) => (i < kept ? n : n * node.strides[i - kept]! + inside[i - kept]!)),
            read(arg, place),
            add,
          );
        });
        return out;
      }
      case "sort":
      case "argsort": {
        const [arg] = node.args;
        const length = shape.at(-1)!;
        const all: number[] = [];
        eachPlace(shape, (place) => all.push(read(arg, place)));
        for (let from = 0; from < all.length; from += length) {
          const row = all.slice(from, from + length);
          // NaN last, as NumPy has it.
          const order = row.map((_, i) => i).sort((i, j) => compareNumbers(row[i]!, row[j]!));
          for (const [i, j] of order.entries()) out[from + i] = node.op === "sort" ? row[j]! : j;
        }
        return out;
      }
      case "randomBits": {
        const words = new Uint32Array(2);
        eachPlace(shape, (place, n) => {
          const [k0, k1] = node.args.map((arg) => read(arg, place)) as [number, number];
          threefry(k0, k1, 0, n % node.period, words);
          put(place, node.mode === "xor" ? words[0]! ^ words[1]! : words[node.mode]!);
        });
        break;
      }
    }
    return out;
  }
}

function compareNumbers(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return a - b;
}
