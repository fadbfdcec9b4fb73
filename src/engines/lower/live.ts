// Leaves out what no output depends on.
import type { Graph, Node } from "./graph.ts";

export function keepLive(graph: Graph): Graph {
  const live = new Set<Node>(graph.outputs.map(({ node }) => node));
  // From the last one on: whoever uses a node comes after it.
  for (const node of graph.nodes.toReversed()) {
    if (live.has(node) && "args" in node) for (const arg of node.args) live.add(arg.node);
  }
  return { ...graph, nodes: graph.nodes.filter((node) => live.has(node)) };
}
