// A large array that a product of the backward pass wants, long after the forward pass used it, is computed again for it
// when that is cheap and what it is made of is there anyway: of a softmax, its exponentials are.
import { sizeOf } from "../../../core/arrays.ts";
import type { Arg, Graph, Node } from "../../lower/graph.ts";
import { costOf, Storage } from "./storage.ts";

type MapNode = Extract<Node, { op: "map" }>;

/** In numbers. To write smaller ones again costs as much as it saves. */
const LARGE = 2 ** 18;
/** What it may cost to compute a number again. */
const CHEAP = 2;
/** An argument that is repeated so often neither costs nor keeps much. */
const SMALL = 8;
/** The sources may live longer by this part of the gap. */
const LONGER = 1 / 8;

export function copyLate(graph: Graph): Graph {
  // What is recomputed on request saves more, and is in an order of its own.
  if (graph.nodes.some(({ recomputed }) => recomputed !== undefined)) return graph;
  let storage: Storage | undefined;
  const uses = new Map<Node, number[]>();
  for (const [at, node] of graph.nodes.entries())
    for (const { node: arg } of "args" in node ? node.args : []) {
      if (arg.op === "literal") continue;
      const known = uses.get(arg);
      if (known) known.push(at);
      else uses.set(arg, [at]);
    }
  const kept = new Set<Node>([...graph.outputs.map(({ node }) => node), ...(graph.stored ?? [])]);
  const copies = new Map<number, Map<Node, MapNode>>();
  let next = graph.nodes.reduce((most, { id }) => Math.max(most, id), 0);
  let marks = 0;
  for (const node of graph.nodes) {
    if (node.op !== "map" || kept.has(node) || sizeOf(node.shape) < LARGE) continue;
    const late = lateUses(graph, uses.get(node) ?? []);
    const sources = late && sourcesOf(node, (storage ??= new Storage(graph)));
    if (!sources || sources.cost > CHEAP) continue;
    const last = late.at.at(-1)!;
    const isThere = (source: Node): boolean => last - (uses.get(source)?.at(-1) ?? 0) <= LONGER * late.gap;
    if (!sources.nodes.every(isThere)) continue;
    // A mark of its own, so that it is not computed where the first one is.
    const copy: MapNode = { ...node, id: ++next, recomputed: marks++ };
    for (const at of late.at) copies.set(at, (copies.get(at) ?? new Map<Node, MapNode>()).set(node, copy));
  }
  return copies.size === 0 ? graph : withCopies(graph, copies);
}

/** The products that use it after the longest time in which nothing does. */
function lateUses({ nodes }: Graph, at: readonly number[]): { at: readonly number[]; gap: number } | undefined {
  const gaps = at.slice(1).map((each, i) => each - at[i]!);
  const gap = Math.max(...gaps, 0);
  const late = at.slice(gaps.indexOf(gap) + 1);
  return gap > 0 && late.every((each) => nodes[each]!.op === "dot") ? { at: late, gap } : undefined;
}

/** What is stored of what it is computed from, and what computing one number from that costs. */
function sourcesOf({ fn, args }: MapNode, storage: Storage): { nodes: Node[]; cost: number } {
  const all = { nodes: [] as Node[], cost: costOf(fn) };
  for (const { node, view } of args) {
    if (sizeOf(node.shape) * SMALL <= sizeOf(view.shape)) continue;
    if (storage.has(node)) all.nodes.push(node);
    else if (node.op === "map") {
      const { nodes, cost } = sourcesOf(node, storage);
      all.nodes.push(...nodes);
      all.cost += cost;
    }
  }
  return all;
}

/** Each copy stands before the first node that uses it. */
function withCopies(graph: Graph, copies: ReadonlyMap<number, ReadonlyMap<Node, MapNode>>): Graph {
  /** Nodes that are not what they were. */
  const changed = new Map<Node, Node>();
  const nodes: Node[] = [];
  const written = new Set<Node>();
  const now = (node: Node): Node => changed.get(node) ?? node;
  const seen = ({ node, view }: Arg): Arg => ({ node: now(node), view });
  const rewritten = (node: Node, own?: ReadonlyMap<Node, Node>): Node => {
    if (!("args" in node) || !node.args.some((arg) => own?.has(arg.node) || changed.has(arg.node))) return node;
    return {
      ...node,
      args: node.args.map(({ node: arg, view }) => seen({ node: own?.get(arg) ?? arg, view })),
    } as Node;
  };
  const put = (node: Node, made: Node): void => {
    if (made !== node) changed.set(node, made);
    nodes.push(made);
  };
  for (const [at, node] of graph.nodes.entries()) {
    const own = copies.get(at);
    for (const copy of own?.values() ?? []) {
      if (written.has(copy)) continue;
      written.add(copy);
      put(copy, rewritten(copy));
    }
    put(node, rewritten(node, own));
  }
  const stored = graph.stored && new Set([...graph.stored].map(now));
  return { ...graph, nodes, outputs: graph.outputs.map(seen), ...(stored && { stored }) };
}
