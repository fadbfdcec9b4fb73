// From the graph to a module of StableHLO: every node becomes operations, its arguments become views of their values.
import { sizeOf, type TypedArray } from "../../../core/arrays.ts";
import type { Precision } from "../../engine.ts";
import { findAttention, type Attention, type AttentionResult } from "../../lower/attention.ts";
import type { Arg, DType, Graph, Node, ReduceOp } from "../../lower/graph.ts";
import { moveAll, whole } from "../../lower/view.ts";
import { attentionBackward, attentionForward, hidingBias, suitsCudnn } from "./cudnn-attention.ts";
import { assemble, gather, scatter, scattersIntoSums, sort } from "./indexing.ts";
import { MAPS } from "./maps.ts";
import { beforeProducts, mapType, sumsInProducts } from "./precision.ts";
import { convolution, dot, type Side } from "./products.ts";
import { randomBits } from "./random.ts";
import { recomputed, type Recomputed } from "./recompute.ts";
import { findTanh, type Tanh } from "./tanh.ts";
import { HLO_TYPES, numberText, tensor, typeOf, type HloType, type Value } from "./types.ts";
import { seen, seenOnce } from "./views.ts";
import { addWindows, reduceWindows } from "./windows.ts";
import { HloWriter, type Combine } from "./writer.ts";

/** A table that the program takes as an argument behind its inputs. */
interface Table {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly data: TypedArray;
}

export interface HloModule {
  readonly text: string;
  readonly tables: readonly Table[];
  /** How many attentions cuDNN computes. */
  readonly fusedAttentions: number;
}

export interface HloOptions {
  readonly precision?: Precision;
  /** Attention by cuDNN's kernels, in bfloat16. */
  readonly cudnnAttention?: boolean;
  /** Inputs whose memory an output takes over: the number of the output by that of the input. */
  readonly donated?: ReadonlyMap<number, number>;
  readonly devices?: Devices;
}

/** On how many devices the program runs, and which inputs and results are divided between them. The rest is the same on all. */
export interface Devices {
  readonly count: number;
  readonly divided: ReadonlySet<number>;
  readonly results?: ReadonlySet<number>;
}

/** Larger tables are arguments: XLA looks at each number of a constant while it compiles. */
const INLINE_NUMBERS = 256;

const COMBINE: Readonly<Record<ReduceOp, Combine>> = { add: "add", mul: "multiply", min: "minimum", max: "maximum" };
const COMBINE_BOOLS: Readonly<Record<ReduceOp, Combine>> = { add: "or", mul: "and", min: "and", max: "or" };

type MapNode = Extract<Node, { op: "map" }>;
type Scatter = Extract<Node, { op: "scatter" }>;

const ONE_DEVICE: Devices = { count: 1, divided: new Set() };

export function writeModule(graph: Graph, options: HloOptions = {}): HloModule {
  const { donated = new Map() } = options;
  return new ModuleWriter(graph, options).write(donated, options.devices ?? ONE_DEVICE);
}

class ModuleWriter {
  readonly #graph: Graph;
  readonly #writer = new HloWriter();
  readonly #values = new Map<Node, Value>();
  readonly #tables: Table[] = [];
  readonly #isMixed: boolean;
  /** What is kept in bfloat16 if it is a product or a row of a table. */
  readonly #low: ReadonlySet<Node>;

  /** What computes a node instead of its own operations. */
  readonly #instead = new Map<Node, () => Value>();
  #fusedAttentions = 0;
  readonly #recomputed: Recomputed;
  /** What late readers see in bfloat16, as a product took it. */
  readonly #kept: ReadonlySet<Node>;
  /** By the sum that writes them. */
  readonly #scatters: ReadonlyMap<Node, Scatter>;
  readonly #delayed: ReadonlySet<Node>;
  /** Results that were computed a second time. */
  readonly #again = new Map<Node, Value>();
  /** The value of an argument of the node that is being written. */
  #valueOf = (node: Node): Value | undefined => this.#values.get(node);

  constructor(graph: Graph, { precision = "float32", cudnnAttention = false, devices = ONE_DEVICE }: HloOptions) {
    this.#graph = graph;
    this.#isMixed = precision === "bf16";
    this.#low = this.#isMixed ? beforeProducts(graph) : new Set<Node>();
    if (this.#isMixed && cudnnAttention) for (const one of findAttention(graph)) if (suitsCudnn(one)) this.#fuse(one);
    for (const one of findTanh(graph)) this.#replace(one);
    const isLow = (node: Node): boolean => this.#low.has(node) && ["dot", "conv", "gather"].includes(node.op);
    this.#recomputed = recomputed(graph, (node) => (isLow(node) ? 2 : 4));
    this.#kept = this.#isMixed ? sumsInProducts(graph) : new Set();
    // Several devices add up their shares of the sum at once; a scatter into one of them would have to wait for it.
    this.#scatters = devices.count === 1 ? scattersIntoSums(graph) : new Map();
    this.#delayed = new Set(this.#scatters.values());
  }

  write(donated: ReadonlyMap<number, number>, { count, divided, results: shared }: Devices): HloModule {
    const first = this.#valueOf;
    for (const node of this.#graph.nodes) {
      if (node.op === "literal" || this.#delayed.has(node)) continue;
      this.#valueOf = (arg) => (this.#recomputed.isLate(arg, node) ? this.#late(arg) : first(arg));
      this.#values.set(node, this.#instead.get(node)?.() ?? this.#lower(node));
    }
    this.#valueOf = first;
    const mesh = count === 1 ? "" : `  sdy.mesh @devices = <["rows"=${count}]>\n`;
    const attributes = (others: readonly string[], shape: readonly number[], isDivided = false): string => {
      const all = count === 1 ? others : [...others, `sdy.sharding = ${sharding(shape, isDivided)}`];
      return all.length === 0 ? "" : ` {${all.join(", ")}}`;
    };
    const outputs = this.#graph.outputs.map((arg) => this.#typed(arg, HLO_TYPES[arg.node.dtype]));
    const given = this.#graph.inputs.map(({ shape, dtype }, i) => {
      const to = donated.get(i);
      const alias = to === undefined ? [] : [`tf.aliasing_output = ${to} : i32`];
      return `%arg${i}: ${tensor(shape, HLO_TYPES[dtype])}${attributes(alias, shape, divided.has(i))}`;
    });
    const tables = this.#tables.map(
      ({ shape, dtype }, i) => `%table${i}: ${tensor(shape, HLO_TYPES[dtype])}${attributes([], shape)}`,
    );
    const results = outputs
      .map((value, i) => `${typeOf(value)}${attributes([], value.shape, shared?.has(i))}`)
      .join(", ");
    const types = outputs.map(typeOf).join(", ");
    const body = this.#writer.lines.map((line) => `    ${line.replaceAll("\n", "\n    ")}\n`).join("");
    const end = `    return ${outputs.map(({ name }) => name).join(", ")}${outputs.length === 0 ? "" : ` : ${types}`}\n`;
    const text = `module @hookline {\n${mesh}  func.func public @main(${[...given, ...tables].join(", ")}) -> (${results}) {\n${body}${end}  }\n}\n`;
    return { text, tables: this.#tables, fusedAttentions: this.#fusedAttentions };
  }

  /** The products of an attention become results of two calls; nothing then uses what lies between, and XLA drops it. */
  #fuse(attention: Attention): void {
    const { q, k, v, seen: mask, out, backward } = attention;
    this.#fusedAttentions++;
    const low = (arg: Arg): Value => this.#typed(arg, "bf16");
    const operands = () => ({
      q: low(q),
      k: low(k),
      v: low(v),
      bias: mask && hidingBias(this.#writer, this.#seen(mask)),
    });
    const forward = () => attentionForward(this.#writer, operands(), attention);
    const put = ({ node, order }: AttentionResult, value: () => Value): void =>
      void this.#instead.set(node, () => {
        // Heads of queries that share keys are rows of one matrix.
        const shape = order.map((_, i) => node.shape[order.indexOf(i)]!);
        return this.#writer.transpose(this.#writer.reshape(value(), shape), order);
      });
    put(out, () => forward().out);
    if (!backward) return;
    // The writer writes a call once, however often it is asked for it.
    const gradients = () =>
      attentionBackward(this.#writer, operands(), forward(), low(backward.outGradient), attention);
    for (const [i, result] of [backward.q, backward.k, backward.v].entries()) put(result, () => gradients()[i]!);
  }

  /** XLA has an operation for tanh; its derivative is 1 − tanh². */
  #replace({ node, of, gradients }: Tanh): void {
    const seenNow = (arg: Node): Value => this.#writer.convert(this.#valueOf(arg)!, "f32");
    this.#instead.set(node, () => this.#writer.unary("tanh", seenNow(of)));
    for (const { node: gradient, from } of gradients) {
      this.#instead.set(gradient, () => {
        const result = seenNow(node);
        const one = this.#writer.constant(1, result.shape, result.type);
        const derivative = this.#writer.binary("subtract", one, this.#writer.binary("multiply", result, result));
        return this.#writer.binary("multiply", seenNow(from), derivative);
      });
    }
  }

  /** What a reader sees that is computed behind products that follow. */
  #late(node: Node): Value | undefined {
    if (this.#recomputed.nodes.has(node)) return this.#computeAgain(node);
    const value = this.#values.get(node);
    if (!this.#kept.has(node) || value?.type !== "f32") return value;
    // XLA would take numbers in float32 instead of those that were rounded, and so keep both.
    return this.#writer.barrier(this.#writer.convert(value, "bf16"));
  }

  /** Behind barriers, without which XLA would find the first results and keep them. */
  #computeAgain(node: Node): Value {
    let value = this.#again.get(node);
    if (value) return value;
    const before = this.#valueOf;
    this.#valueOf = (arg) => {
      const isPart = arg.op === "map" && sizeOf(arg.shape) === sizeOf(node.shape);
      if (isPart) return this.#computeAgain(arg);
      return this.#recomputed.bases.has(arg) ? this.#writer.barrier(this.#values.get(arg)!) : this.#values.get(arg);
    };
    value = this.#instead.get(node)?.() ?? this.#lower(node);
    this.#valueOf = before;
    this.#again.set(node, value);
    return value;
  }

  #lower(node: Node): Value {
    const writer = this.#writer;
    const type = HLO_TYPES[node.dtype];
    switch (node.op) {
      case "input":
        return { name: `%arg${node.index}`, shape: node.shape, type };
      case "literal":
        return writer.constant(node.value, node.shape, type);
      case "constant":
        return this.#constant(node.data, node.shape, node.dtype);
      case "iota":
        return writer.iota(node.shape, node.axis, type);
      case "map": {
        const scattered = this.#scatters.get(node);
        return scattered ? this.#scatterInto(node, scattered, type) : this.#map(node, type);
      }
      case "reduce":
        return this.#reduce(node);
      case "dot":
        return this.#dot(node, type);
      case "conv": {
        const into = this.#productType(node, type);
        const [image, kernel] = node.args.map((arg) => this.#typed(arg, this.#operandType(type))) as [Value, Value];
        return convolution(writer, image, kernel, node.params, node.shape, into);
      }
      case "assemble":
        return assemble(writer, this.#alike(node.args), node.places, node.shape);
      case "gather": {
        const [table, ...indices] = node.args.map((arg) => this.#seen(arg)) as [Value, ...Value[]];
        const rows = gather(writer, table, indices);
        return type === "f32" && this.#low.has(node) ? writer.convert(rows, "bf16") : rows;
      }
      case "scatter":
        return this.#scatter(node, writer.constant(0, node.shape, type));
      case "barrier": {
        // Neither XLA nor the writer merges what lies behind it with what lies before.
        const [value, ...after] = node.args.map((arg) => this.#seen(arg)) as [Value, ...Value[]];
        return writer.barrier(value, ...after);
      }
      case "windowsAdd":
        return addWindows(writer, this.#seen(node.args[0]), node.window, node.strides, node.shape);
      case "sort":
        return sort(writer, this.#seen(node.args[0])).sorted;
      case "argsort":
        return sort(writer, this.#seen(node.args[0])).order;
      case "randomBits":
    }
    const [first, second] = node.args.map((arg) => this.#seen(arg)) as [Value, Value];
    return randomBits(writer, [first, second], node.period, node.mode);
  }

  #scatter(node: Scatter, into: Value): Value {
    const [rows, ...indices] = node.args;
    const places = indices.map((arg) => this.#seen(arg));
    return scatter(this.#writer, this.#typed(rows, into.type), places, into, node);
  }

  #scatterInto({ args }: MapNode, own: Scatter, type: HloType): Value {
    return this.#scatter(
      own,
      this.#typed(
        args.find(({ node }) => node !== own)!,
        type,
      ),
    );
  }

  #map({ fn, args, shape }: MapNode, type: HloType): Value {
    const floats = args.filter(({ node }) => node.dtype === "float32");
    const total = sizeOf(shape);
    const common = mapType(
      fn,
      floats.map(({ node }) => ({
        type: this.#valueOf(node)?.type ?? "f32",
        isNumber: node.op === "literal",
        isBias: node.op === "input" && sizeOf(node.shape) < total,
      })),
    );
    const given = args.map((arg) =>
      this.#typed(arg, arg.node.dtype === "float32" ? common : HLO_TYPES[arg.node.dtype]),
    );
    return MAPS[fn](this.#writer, given, type);
  }

  /** Sums are computed in float32. A reduction of windows is one operation: their numbers are never written side by side. */
  #reduce({ fn, args: [arg], axes, dtype }: Extract<Node, { op: "reduce" }>): Value {
    const combine = (dtype === "bool" ? COMBINE_BOOLS : COMBINE)[fn];
    const last = arg.view.moves.at(-1);
    const type = HLO_TYPES[dtype];
    if (last?.kind === "windows" && arg.node.op !== "literal") {
      const places = arg.view.shape.length - last.window.length;
      if (axes.length === last.window.length && axes.every((axis) => axis >= places)) {
        const before = moveAll(whole(arg.node.shape), arg.view.moves.slice(0, -1))!;
        const from = this.#writer.convert(seen(this.#writer, this.#valueOf(arg.node)!, before), type);
        return reduceWindows(this.#writer, from, combine, last.window, last.strides);
      }
    }
    return this.#writer.reduce(this.#typed(arg, type), combine, axes);
  }

  #dot(node: Extract<Node, { op: "dot" }>, type: HloType): Value {
    const writer = this.#writer;
    const operand = this.#operandType(type);
    const sides = node.args.map((arg): Side => {
      const isNumber = arg.node.op === "literal";
      const value = isNumber
        ? writer.constant((arg.node as { value: number }).value, [], operand)
        : seenOnce(writer, writer.convert(this.#valueOf(arg.node)!, operand), arg.view);
      return { value, view: arg.view, isNumber };
    }) as unknown as readonly [Side, Side];
    // Alternatives of conjunctions, counted.
    if (type === "i1") return writer.convert(dot(writer, sides, node.shape, "i32"), "i1");
    return dot(writer, sides, node.shape, this.#productType(node, type));
  }

  #operandType(type: HloType): HloType {
    if (type === "i1") return "i32";
    return type === "f32" && this.#isMixed ? "bf16" : type;
  }

  /** Products round to bfloat16 unless no other product follows: gradients of weights stay float32. */
  #productType(node: Node, type: HloType): HloType {
    return type === "f32" && this.#low.has(node) ? "bf16" : type;
  }

  #seen({ node, view }: Arg): Value {
    if (node.op === "literal") return this.#writer.constant(node.value, view.shape, HLO_TYPES[node.dtype]);
    return seen(this.#writer, this.#valueOf(node)!, view);
  }

  /** Converted before it is repeated. */
  #typed({ node, view }: Arg, type: HloType): Value {
    if (node.op === "literal") return this.#writer.constant(node.value, view.shape, type);
    return seen(this.#writer, this.#writer.convert(this.#valueOf(node)!, type), view);
  }

  /** Of one type: bfloat16 if all of them are, else the graph's. */
  #alike(args: readonly Arg[]): Value[] {
    const types = args.flatMap(({ node }) => this.#valueOf(node)?.type ?? []);
    const type = types.length > 0 && types.every((one) => one === "bf16") ? "bf16" : HLO_TYPES[args[0]!.node.dtype];
    return args.map((arg) => this.#typed(arg, type));
  }

  #constant(data: TypedArray, shape: readonly number[], dtype: DType): Value {
    const type = HLO_TYPES[dtype];
    if (data.length <= INLINE_NUMBERS) {
      const text = nested(
        Array.from(data, (value) => numberText(value, type)),
        shape,
      );
      return this.#writer.emit(`stablehlo.constant dense<${text}> : ${tensor(shape, type)}`, shape, type);
    }
    const name = `%table${this.#tables.length}`;
    this.#tables.push({ data, shape, dtype });
    return { name, shape, type };
  }
}

/** Which dimension is divided: the first, or none. XLA divides what depends on it, and adds up what the devices found. */
function sharding(shape: readonly number[], isDivided: boolean): string {
  const dimensions = shape.map((_, i) => (isDivided && i === 0 ? `{"rows"}` : "{}"));
  return `#sdy.sharding<@devices, [${dimensions.join(", ")}]>`;
}

/** A list in brackets for each dimension. */
function nested(numbers: readonly string[], shape: readonly number[]): string {
  if (shape.length === 0) return numbers[0]!;
  const [length, ...rest] = shape as [number, ...number[]];
  const size = numbers.length / length;
  const parts = Array.from({ length }, (_, i) => nested(numbers.slice(i * size, (i + 1) * size), rest));
  return `[${parts.join(", ")}]`;
}
