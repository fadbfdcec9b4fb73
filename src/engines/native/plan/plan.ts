// From a graph to steps: kernels, matrix products and sorts, with the buffers between them.
import type { Graph, Node } from "../../lower/graph.ts";
import { withoutBarriers } from "../../lower/recomputation.ts";
import { sizeOf } from "../../../core/arrays.ts";
import type { View } from "../../lower/view.ts";
import type { Kernel, KernelValue, Statement } from "../kernel.ts";
import { joinAssembled } from "../conv/joined.ts";
import { collapse } from "./collapse.ts";
import { Expressions, type AtHand } from "./expression.ts";
import { type Group, groupTasks, isStretched } from "./groups.ts";
import { keepInside } from "./arena.ts";
import { copyLate } from "./late-copies.ts";
import { prepare, type Prepared } from "./prepare.ts";
import type { BufferSource, Plan, PlannedBuffer, Step } from "./steps.ts";

/** For that many threads. */
export function planGraph(graph: Graph, threads = 1): Plan {
  const prepared = prepare(copyLate(joinAssembled(withoutBarriers(graph))), threads);
  const buffers = new Buffers(prepared);
  const steps = groupTasks(prepared, threads).map((item): Step => {
    if (item.kind === "group") return kernelStep(item, prepared, buffers, threads);
    const { node } = item;
    const product = prepared.products.get(node);
    if (product) {
      return {
        kind: "contraction",
        contraction: product.contraction,
        left: buffers.of(product.left),
        right: buffers.of(product.right),
        out: buffers.of(node),
      };
    }
    const convolved = prepared.convolutions.get(node);
    if (convolved) {
      return {
        kind: "convolution",
        how: convolved.how,
        convolution: convolved.convolution,
        image: buffers.of(convolved.image),
        kernel: buffers.of(convolved.kernel),
        out: buffers.of(node),
      };
    }
    if (node.op !== "sort" && node.op !== "argsort") throw new Error(`a ${node.op} is no step of its own`);
    const length = node.shape.at(-1) ?? 1;
    const [from] = node.args;
    const rows = sizeOf(node.shape.slice(0, -1));
    return { kind: node.op, from: buffers.of(from.node), to: buffers.of(node), rows, length, dtype: from.node.dtype };
  });
  return { buffers: buffers.list, steps: keepInside(steps, buffers.list) };
}

/** Numbers the buffers of stored nodes. */
class Buffers {
  readonly list: PlannedBuffer[] = [];
  readonly #numbers = new Map<Node, number>();
  readonly #outputs: readonly Node[];

  constructor({ outputs, nodes }: Prepared) {
    this.#outputs = outputs;
    // Inputs and outputs exist even if no step touches them.
    for (const node of [...nodes.filter(({ op }) => op === "input"), ...outputs]) this.of(node);
  }

  of(node: Node): number {
    let number = this.#numbers.get(node);
    if (number === undefined) {
      number = this.list.length;
      this.list.push({ length: sizeOf(node.shape), source: this.#source(node) });
      this.#numbers.set(node, number);
    }
    return number;
  }

  #source(node: Node): BufferSource {
    if (node.op === "input") return { kind: "input", index: node.index };
    if (node.op === "constant") return { kind: "constant", data: node.data };
    const index = this.#outputs.indexOf(node);
    return index >= 0 ? { kind: "output", index } : { kind: "temporary" };
  }
}

function kernelStep(group: Group, prepared: Prepared, all: Buffers, threads: number): Step {
  const split = group.split ?? Math.max(group.domain.length - 1, 0);
  const inner = group.domain.slice(split);
  /** The step's own numbering of its buffers. */
  const used: number[] = [];
  const local = (node: Node): number => {
    const number = all.of(node);
    if (!used.includes(number)) used.push(number);
    return used.indexOf(number);
  };
  const statements: Statement[] = [];
  const makers = new Map<Node, { statement: number; result: "place" | "row" }>();
  const atHand: AtHand = {
    find(node: Node, _view: View): KernelValue | undefined {
      const maker = makers.get(node);
      if (!maker) return undefined;
      const kind = maker.result === "row" ? "reduced" : "kept";
      return { kind, statement: maker.statement, dtype: node.dtype };
    },
  };
  const expressions = new Expressions(prepared.storage, local, atHand, split);
  const clear: NonNullable<Kernel["clear"]>[number][] = [];
  for (const task of group.tasks) {
    const { node } = task;
    const statement = task.statement(expressions, expressions.access(node, ofDomain(task.target, task.result, split)));
    if (task.clears || group.domain.includes(0)) {
      const fn = "fn" in statement ? statement.fn : "add";
      clear.push({ buffer: local(node), length: sizeOf(node.shape), fn, dtype: node.dtype });
    }
    if (task.result !== "none") makers.set(node, { statement: statements.length, result: task.result });
    statements.push({ ...statement, inner, ...(isStretched(task, threads) && { stretches: threads }) });
  }
  // Nothing to walk over: what sums are of nothing is all that is left.
  const empty = group.domain.includes(0);
  const kernel: Kernel = {
    name: group.tasks.map(({ node }) => `${node.op}${node.id}`).join("+"),
    buffers: used.length,
    outer: empty ? [] : group.domain.slice(0, split),
    values: empty ? [] : expressions.values,
    statements: empty ? [] : statements,
    ...(clear.length > 0 && { clear }),
  };
  return { kind: "kernel", kernel: collapse(kernel), buffers: used };
}

/** A row's result has no inner dimensions: its layout is that of the outer ones. */
function ofDomain(view: View, result: "place" | "row" | "none", split: number): View {
  if (result !== "row") return view;
  return { ...view, shape: view.shape.slice(0, split), strides: view.strides.slice(0, split) };
}
