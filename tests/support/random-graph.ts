// Graphs of any kind, from a number. Every result is a small whole number, so that two ways of computing must agree exactly.
import { Rng } from "../../src/data/random.ts";
import { GraphBuilder } from "../../src/engines/lower/builder.ts";
import { type Arg, type DType, type Graph, type MapOp, keepLive } from "../../src/engines/lower/graph.ts";
import { sizeOf } from "../../src/core/arrays.ts";
import type { Move } from "../../src/engines/lower/view.ts";

/** Small ones are for comparing number by number, large ones are worth dividing between threads. */
const SIZES = {
  small: { most: 3000, mostOfDot: 20_000, odd: [16, 17, 24], products: [2, 4, 8, 12] },
  large: { most: 150_000, mostOfDot: 6_000_000, odd: [64, 129, 200], products: [8, 16, 30, 64] },
};
const BOUND = 8;

export interface RandomGraph {
  readonly graph: Graph;
  readonly inputs: readonly (Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer>)[];
}

type Step = (g: Maker, x: Arg) => Arg | undefined;

class Maker {
  readonly rng: Rng;
  readonly graph = new GraphBuilder();
  readonly values: Arg[] = [];

  readonly size: (typeof SIZES)["small"];

  constructor(seed: number, size: keyof typeof SIZES) {
    this.rng = new Rng(seed);
    this.size = SIZES[size];
  }

  pick<T>(from: readonly T[]): T {
    return from[this.rng.int(from.length)]!;
  }

  /** Sizes that end on and between multiples of a vector, one and, rarely, none. */
  shape(rank = this.rng.int(4)): number[] {
    const size = (): number => {
      if (this.rng.int(40) === 0) return 0;
      const isOdd = this.rng.int(this.size === SIZES.large ? 2 : 6) === 0;
      return isOdd ? this.pick(this.size.odd) : 1 + this.rng.int(9);
    };
    const shape = Array.from({ length: rank }, size);
    return sizeOf(shape) > this.size.most ? this.shape(rank) : shape;
  }

  number(): number {
    return this.rng.int(7) - 3;
  }

  /** A value of a shape that broadcasts with this one. */
  partner({ view }: Arg, dtype: DType): Arg {
    const fitting = this.values.filter(
      ({ node, view: other }) => node.dtype === dtype && broadcasts(other.shape, view.shape),
    );
    if (fitting.length > 0 && this.rng.int(4) > 0) return this.pick(fitting);
    if (this.rng.int(3) === 0 && view.shape.length > 0) {
      const axis = this.rng.int(view.shape.length);
      return this.bounded(this.graph.iota(view.shape, axis, dtype));
    }
    return this.graph.literal(dtype === "bool" ? this.rng.int(2) : this.number(), dtype);
  }

  map(fn: MapOp, args: readonly Arg[], dtype = args.at(-1)!.node.dtype): Arg {
    const shape = args.reduce<readonly number[]>((common, { view }) => together(common, view.shape), []);
    return this.graph.map(fn, args, shape, dtype);
  }

  /** Within ±8, whatever it was. */
  bounded(x: Arg): Arg {
    const { dtype } = x.node;
    if (dtype === "bool") return x;
    const low = this.map("max", [x, this.graph.literal(-BOUND, dtype)], dtype);
    return this.map("min", [low, this.graph.literal(BOUND, dtype)], dtype);
  }

  index(shape: readonly number[], size: number): Arg {
    const data = Int32Array.from({ length: sizeOf(shape) }, () => this.rng.int(size));
    return this.graph.constant(data, shape, "int32");
  }
}

const broadcasts = (small: readonly number[], large: readonly number[]): boolean =>
  small.length <= large.length && small.every((n, i) => n === 1 || n === large[i + large.length - small.length]);

function together(a: readonly number[], b: readonly number[]): readonly number[] {
  const [long, short] = a.length >= b.length ? [a, b] : [b, a];
  return long.map((n, i) => (n === 1 ? (short[i - long.length + short.length] ?? 1) : n));
}

/** Another shape of the same size. */
function reshaped(g: Maker, shape: readonly number[]): number[] {
  const out: number[] = [];
  for (const n of shape) {
    if (out.length > 0 && g.rng.int(2) === 0) out.push(out.pop()! * n);
    else if (n > 1 && n % 2 === 0 && g.rng.int(3) === 0) out.push(2, n / 2);
    else out.push(...(g.rng.int(4) === 0 ? [1, n] : [n]));
  }
  return out;
}

const moved = (g: Maker, x: Arg, step: Move): Arg => g.graph.move(x, step);

const STEPS: Readonly<Record<string, Step>> = {
  unary: (g, x) => (x.node.dtype === "bool" ? undefined : g.map(g.pick(["neg", "copy"]), [x])),
  binary(g, x) {
    if (x.node.dtype === "bool") return g.map(g.pick(["and", "or", "xor"]), [x, g.partner(x, "bool")]);
    const fn = g.pick(["add", "sub", "mul", "min", "max"] as const);
    return g.bounded(g.map(fn, [x, g.partner(x, x.node.dtype)]));
  },
  compare: (g, x) => g.map(g.pick(["less", "lessEqual", "equal", "notEqual"]), [x, g.partner(x, x.node.dtype)], "bool"),
  where(g, x) {
    const condition = g.map("less", [x, g.partner(x, x.node.dtype)], "bool");
    return g.map("where", [condition, x, g.partner(x, x.node.dtype)], x.node.dtype);
  },
  cast: (g, x) => g.graph.cast(x, g.pick(["float32", "int32", "bool"])),
  permute(g, x) {
    const weights = x.view.shape.map(() => g.rng.next());
    const order = weights.map((_, i) => i).sort((a, b) => weights[a]! - weights[b]!);
    return moved(g, x, { kind: "permute", order });
  },
  reshape: (g, x) => moved(g, x, { kind: "reshape", shape: reshaped(g, x.view.shape) }),
  slice(g, x) {
    const ranges = x.view.shape.map((n): [number, number] => {
      const from = g.rng.int(n + 1);
      return g.rng.int(2) === 0 ? [0, n] : [Math.min(from, Math.max(n - 1, 0)), n];
    });
    return moved(g, x, { kind: "slice", ranges });
  },
  flip: (g, x) => moved(g, x, { kind: "flip", axes: x.view.shape.flatMap((_, i) => (g.rng.int(2) ? [i] : [])) }),
  repeat(g, x) {
    const front = 1 + g.rng.int(5);
    return moved(g, x, { kind: "broadcast", shape: [front, ...x.view.shape] });
  },
  windows(g, x) {
    const n = x.view.shape.at(-1) ?? 0;
    if (n < 3) return undefined;
    const step: Move = { kind: "windows", window: [1 + g.rng.int(3)], strides: [1 + g.rng.int(2)] };
    return moved(g, x, step);
  },
  windowsAdd(g, x) {
    const { shape } = x.view;
    const [places, window] = shape.slice(-2);
    if (window === undefined || places === 0 || window === 0 || x.node.dtype === "bool") return undefined;
    const step = 1 + g.rng.int(2);
    const out = [...shape.slice(0, -2), (places! - 1) * step + window + g.rng.int(2)];
    const { dtype } = x.node;
    return g.bounded(
      g.graph.node({ op: "windowsAdd", args: [x], window: [window], strides: [step], shape: out, dtype }),
    );
  },
  reduce(g, x) {
    const { shape } = x.view;
    const axes = shape.flatMap((_, i) => (g.rng.int(2) ? [i] : []));
    if (axes.length === 0) return undefined;
    const { dtype } = x.node;
    const fn = dtype === "bool" ? g.pick(["min", "max"] as const) : g.pick(["add", "add", "min", "max"] as const);
    // What the least of no numbers is, types do not agree on.
    if (fn !== "add" && axes.some((axis) => shape[axis] === 0)) return undefined;
    const kept = shape.filter((_, i) => !axes.includes(i));
    return g.bounded(g.graph.node({ op: "reduce", fn, args: [x], axes, shape: kept, dtype }));
  },
  /** As jax-js writes a product: both sides broadcast to [rows, columns, inner]. */
  dot(g, x) {
    const { shape } = x.view;
    const { dtype } = x.node;
    const inner = shape.at(-1);
    if (inner === undefined || dtype === "bool") return undefined;
    const columns = g.pick([1, 3, 16, 24, 40]);
    const batch = shape.slice(0, -2);
    const rows = shape.at(-2) ?? 1;
    if (sizeOf(shape) * columns > g.size.mostOfDot) return undefined;
    // With one matrix for all, what is no batch are rows of several dimensions.
    const ofBatch = g.rng.int(3) === 0 ? batch : batch.map(() => 1);
    const data = Float32Array.from({ length: sizeOf(ofBatch) * columns * inner }, () => g.number());
    let right = g.graph.constant(
      dtype === "float32" ? data : Int32Array.from(data),
      g.rng.int(2) ? [...ofBatch, inner, columns] : [...ofBatch, columns, inner],
      dtype,
    );
    const swapped = right.view.shape.at(-1) === columns && right.view.shape.at(-2) === inner && columns !== inner;
    const rank = right.view.shape.length;
    if (swapped) {
      const order = [...Array.from({ length: rank - 2 }, (_, i) => i), rank - 1, rank - 2];
      right = moved(g, right, { kind: "permute", order });
    }
    right = moved(g, right, { kind: "reshape", shape: [...ofBatch, 1, columns, inner] });
    // Before and not behind: who uses a product sees it as it is.
    const small = x.node.op === "input" ? x : g.bounded(x);
    const left = moved(g, small, { kind: "reshape", shape: [...batch, rows, 1, inner] });
    const full = [...batch, rows, columns, inner];
    const args = [g.graph.broadcast(left, full), g.graph.broadcast(right, full)] as const;
    const pair: readonly [Arg, Arg] = g.rng.int(3) === 0 ? [args[1], args[0]] : args;
    return g.graph.node({ op: "dot", args: pair, shape: full.slice(0, -1), dtype });
  },
  assemble(g, x) {
    const { shape } = x.view;
    const before = shape.map(() => g.rng.int(3));
    const out = shape.map((n, i) => n + before[i]! + g.rng.int(2));
    return g.graph.node({ op: "assemble", args: [x], places: [before], shape: out, dtype: x.node.dtype });
  },
  join(g, x) {
    const { shape } = x.view;
    if (shape.length === 0) return undefined;
    const axis = g.rng.int(shape.length);
    const y = g.partner(x, x.node.dtype);
    const other = g.graph.broadcast(y, shape);
    const out = shape.map((n, i) => (i === axis ? 2 * n : n));
    const places = [shape.map(() => 0), shape.map((n, i) => (i === axis ? n : 0))];
    return g.graph.node({ op: "assemble", args: [x, other], places, shape: out, dtype: x.node.dtype });
  },
  gather(g, x) {
    const [n, ...rest] = x.view.shape;
    if (!n) return undefined;
    const ids = g.index(g.shape(g.rng.int(2) + 1), n);
    const shape = [...ids.view.shape, ...rest];
    if (sizeOf(shape) > g.size.most) return undefined;
    return g.graph.node({ op: "gather", args: [x, ids], shape, dtype: x.node.dtype });
  },
  scatter(g, x) {
    const [n, ...rest] = x.view.shape;
    if (n === undefined || x.node.dtype === "bool") return undefined;
    const count = 1 + g.rng.int(7);
    const shape = [count, ...rest];
    const { dtype } = x.node;
    return g.bounded(g.graph.node({ op: "scatter", adds: true, args: [x, g.index([n], count)], shape, dtype }));
  },
  /** Indices that are computed in the same program. */
  pickRows(g, x) {
    const [n, ...rest] = x.view.shape;
    if (!n || x.node.dtype === "bool" || rest.includes(0)) return undefined;
    const { dtype } = x.node;
    const axes = rest.map((_, i) => i + 1);
    const largest = axes.length > 0 ? g.graph.node({ op: "reduce", fn: "max", args: [x], axes, shape: [n], dtype }) : x;
    const whole = g.map("max", [g.graph.cast(largest, "int32"), g.graph.literal(0, "int32")]);
    const ids = g.map("min", [whole, g.graph.literal(n - 1, "int32")]);
    if (g.rng.int(2)) return g.graph.node({ op: "gather", args: [x, ids], shape: x.view.shape, dtype });
    return g.bounded(g.graph.node({ op: "scatter", adds: true, args: [x, ids], shape: x.view.shape, dtype }));
  },
  sort(g, x) {
    if (x.view.shape.length === 0 || x.node.dtype === "bool") return undefined;
    const op = g.pick(["sort", "argsort"] as const);
    const dtype = op === "argsort" ? "int32" : x.node.dtype;
    return g.bounded(g.graph.node({ op, args: [g.graph.copy(x)], shape: x.view.shape, dtype }));
  },
  bits(g, x) {
    const key = (): Arg => g.graph.broadcast(g.graph.literal(g.rng.int(1 << 30), "uint32"), x.view.shape);
    const period = Math.max(sizeOf(x.view.shape.slice(g.rng.int(2))), 1);
    const args: readonly [Arg, Arg] = [key(), key()];
    const bits = g.graph.node({ op: "randomBits", args, mode: "xor", period, shape: x.view.shape, dtype: "uint32" });
    const few = g.map("and", [bits, g.graph.literal(7, "uint32")], "uint32");
    return g.graph.cast(few, x.node.dtype);
  },
};

/** What a graph is made of: a bit of everything, or matrix products of arrays that were turned about. */
const KINDS = {
  anything: Object.keys(STEPS),
  products: ["dot", "dot", "permute", "permute", "reshape", "reduce", "sort", "binary", "flip", "slice", "scatter"],
} as const;

export function randomGraph(
  seed: number,
  kind: keyof typeof KINDS = "anything",
  size: keyof typeof SIZES = "small",
): RandomGraph {
  const g = new Maker(seed, size);
  const ofProducts = kind === "products";
  const inputs = Array.from({ length: 1 + g.rng.int(ofProducts ? 2 : 3) }, (_, i) => {
    const shape = ofProducts ? Array.from({ length: 2 + g.rng.int(3) }, () => g.pick(g.size.products)) : g.shape();
    const dtype = !ofProducts && g.rng.int(4) === 0 ? "int32" : "float32";
    g.values.push(g.graph.input(i, shape, dtype));
    const data = Array.from({ length: sizeOf(shape) }, () => g.number());
    return dtype === "int32" ? Int32Array.from(data) : Float32Array.from(data);
  });
  const declared = g.values.map(({ node: { shape, dtype } }) => ({ shape, dtype }));
  const count = 2 + g.rng.int(14);
  for (let i = 0; i < count; i++) {
    // The latest ones most: that makes long chains.
    const x = g.values[Math.max(g.values.length - 1 - g.rng.int(3), 0)]!;
    const y = STEPS[g.pick<string>(KINDS[kind])]!(g, x);
    if (y && sizeOf(y.view.shape) <= g.size.most && y.view.shape.length <= 6) g.values.push(y);
  }
  const last = g.values.at(-1)!;
  const outputs = [last, ...g.values.filter((value) => value !== last && g.rng.int(4) === 0)];
  return { graph: keepLive({ nodes: g.graph.nodes, inputs: declared, outputs }), inputs };
}

/** For a message: what the graph consists of. */
export const outline = ({ nodes, outputs }: Graph): string =>
  [...nodes, ...outputs.map(({ node }) => node)]
    .map((node, i) => {
      const args =
        "args" in node ? node.args.map((arg) => `${arg.node.id}[${arg.view.shape}|${arg.view.strides}]`) : [];
      const fn = "fn" in node ? node.fn : "";
      return i < nodes.length
        ? `${node.id} = ${node.op} ${fn} ${args.join(" ")} : ${node.dtype}[${node.shape}]`
        : `out ${node.id}`;
    })
    .join("\n");
