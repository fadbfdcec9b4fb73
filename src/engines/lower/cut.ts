// Cuts a graph in two: the first half computes some of the outputs, and the second the others with what the first left.
import { type Arg, type Graph, type Node, keepLive } from "./graph.ts";
import { whole } from "./view.ts";

export interface Halves {
  /** Its outputs: the early ones, then the numbers that are kept for the second half. */
  readonly first: Graph;
  /** Its inputs: those of the graph, then the numbers that were kept. Its outputs: the ones that are not early. */
  readonly second: Graph;
  /** What is kept, in order. */
  readonly kept: readonly Node[];
}

export function cutGraph(graph: Graph, isEarly: (output: number) => boolean): Halves {
  const early = graph.outputs.filter((_, i) => isEarly(i));
  const late = graph.outputs.filter((_, i) => !isEarly(i));
  const first = keepLive({ ...graph, outputs: early });
  const known = new Set(first.nodes);
  const isProduct = ({ op }: Node): boolean => op === "dot" || op === "conv";
  const operands = new Set(
    first.nodes.flatMap((node) => (isProduct(node) && "args" in node ? node.args.map((arg) => arg.node) : [])),
  );
  // Arithmetic is cheaper to do again than to keep, unless a product has had it written to memory anyway.
  const isCheap = ({ op }: Node): boolean => op === "map" || op === "literal" || op === "iota";
  const isKept = (node: Node): boolean =>
    known.has(node) && node.op !== "input" && node.op !== "constant" && (!isCheap(node) || operands.has(node));

  const needed = new Set<Node>();
  const kept = new Set<Node>();
  const visit = (node: Node): void => {
    if (isKept(node)) kept.add(node);
    else if (!needed.has(node)) {
      needed.add(node);
      if ("args" in node) for (const arg of node.args) visit(arg.node);
    }
  };
  for (const { node } of late) visit(node);

  const order = [...kept].sort((a, b) => a.id - b.id);
  return {
    first: { ...first, outputs: [...early, ...order.map((node): Arg => ({ node, view: whole(node.shape) }))] },
    second: secondHalf(graph, late, needed, order),
    kept: order,
  };
}

/** The nodes that are needed, with inputs in place of those that were kept. */
function secondHalf(graph: Graph, late: readonly Arg[], needed: ReadonlySet<Node>, kept: readonly Node[]): Graph {
  const inputs = [...graph.inputs, ...kept.map(({ shape, dtype }) => ({ shape, dtype }))];
  const nodes: Node[] = [];
  const copies = new Map<Node, Node>();
  const add = (node: Node, copy: Node): void => {
    nodes.push(copy);
    copies.set(node, copy);
  };
  for (const [i, node] of kept.entries()) {
    const { shape, dtype } = node;
    add(node, { id: nodes.length, op: "input", index: graph.inputs.length + i, shape, dtype });
  }
  const seen = ({ node, view }: Arg): Arg => ({ node: copies.get(node)!, view });
  for (const node of graph.nodes) {
    if (!needed.has(node)) continue;
    const id = nodes.length;
    add(node, ("args" in node ? { ...node, id, args: node.args.map(seen) } : { ...node, id }) as Node);
  }
  return { nodes, inputs, outputs: late.map(seen) };
}
