// Puts tasks together that can share a kernel: the same domain, and nothing between them that has to be complete first.
import type { Arg, Node } from "../../lower/graph.ts";
import { following, type Move, sameShape, type View } from "../../lower/view.ts";
import type { Prepared } from "./prepare.ts";
import { type Task, tasksOf } from "./tasks.ts";
import { sizeOf } from "../../../core/arrays.ts";
import { areApart, type Axis } from "../threads/divide.ts";

export interface Group {
  readonly kind: "group";
  readonly domain: readonly number[];
  split: number | undefined;
  readonly tasks: Task[];
}

/** A node that is computed apart: a matrix product, a convolution, or a sort. */
interface Single {
  readonly kind: "single";
  readonly node: Node;
}

export type Item = Group | Single;

/** Kernels grow no further than this: the wasm compiler keeps the locals of a function in registers only so long. */
const MOST_TASKS = 24;

/** A stored node as a task reads it: at the places of the domain, or anywhere (no view). */
interface Leaf {
  readonly node: Node;
  readonly view: View | undefined;
}

/** For that many threads. */
export function groupTasks(prepared: Prepared, threads: number): Item[] {
  const items: Item[] = [];
  /** Which item computes a node, and by which task of it. */
  const made = new Map<Node, { item: number; task: Task | undefined }>();
  /** The first item that may take part in each recomputation. */
  const begins = new Map<number, number>();
  for (const node of prepared.nodes) {
    const { recomputed } = node;
    if (recomputed !== undefined && !begins.has(recomputed)) begins.set(recomputed, items.length);
    if (!prepared.storage.has(node) || node.op === "input" || node.op === "constant") continue;
    if (prepared.products.has(node) || prepared.convolutions.has(node) || node.op === "sort" || node.op === "argsort") {
      made.set(node, { item: items.length, task: undefined });
      items.push({ kind: "single", node });
      continue;
    }
    let earliest = (recomputed !== undefined && begins.get(recomputed)) || 0;
    for (const task of tasksOf(node, prepared)) {
      if (task.domain.includes(0) && !task.clears && task.result !== "row") continue;
      const item = Math.max(place(task, items, made, prepared, earliest, threads), earliest);
      // The parts of one node follow each other: the first of them may clear its memory.
      earliest = item;
      made.set(node, { item, task });
    }
  }
  return items;
}

/** The item that takes the task: the first that can, or a new one. */
function place(
  task: Task,
  items: Item[],
  made: ReadonlyMap<Node, { item: number; task: Task | undefined }>,
  prepared: Prepared,
  earliest: number,
  threads: number,
): number {
  const leaves = task.reads.flatMap((reading) =>
    leavesOf(reading.arg, reading.moves, prepared, reading.anywhere ?? false),
  );
  const from = leaves.reduce((latest, { node }) => Math.max(latest, made.get(node)?.item ?? 0), earliest);
  for (let i = from; i < items.length; i++) {
    const item = items[i]!;
    if (item.kind !== "group" || !fits(item, task, threads)) continue;
    const atHand = leaves.every((leaf) => {
      const maker = made.get(leaf.node);
      return maker?.item !== i || isAligned(leaf, maker.task!, task, prepared);
    });
    if (!atHand) continue;
    item.split ??= task.split;
    item.tasks.push(task);
    return i;
  }
  items.push({ kind: "group", domain: task.domain, split: task.split, tasks: [task] });
  return items.length - 1;
}

function fits({ domain, split, tasks }: Group, task: Task, threads: number): boolean {
  if (tasks.length >= MOST_TASKS || !sameShape(domain, task.domain)) return false;
  // A scatter must keep its order, so threads could not share the kernel.
  if (writesAnywhere(tasks[0]!) !== writesAnywhere(task)) return false;
  // Threads share sums along rows by the first dimension, which must not be in the row.
  const rows = split ?? task.split;
  const isInRow = rows !== undefined && rows <= firstAxis(domain);
  if (isInRow && (task.clears || tasks.some(({ clears }) => clears))) return false;
  if (!canShareRows(tasks, task, threads)) return false;
  return split === undefined || task.split === undefined || split === task.split;
}

const writesAnywhere = ({ node }: Task): boolean => node.op === "scatter" && !node.adds;

/** Is what the task reads just what the maker has computed at the same place, or for the same row? */
function isAligned({ node, view }: Leaf, maker: Task, task: Task, { storage }: Prepared): boolean {
  if (!view || maker.result === "none" || view.offset !== 0) return false;
  const layout = storage.layout(node);
  const rows = maker.result === "row" ? maker.split! : task.domain.length;
  // The row's sum must be complete: its users have rows that begin at the same dimension.
  if (maker.result === "row" && task.split !== undefined && task.split !== maker.split) return false;
  return task.domain.every((size, axis) => {
    if (size === 1) return true;
    return view.strides[axis] === (axis < rows ? layout.strides[axis] : 0);
  });
}

/** The stored nodes behind an argument, as the domain sees them. */
function leavesOf(arg: Arg, moves: readonly Move[], prepared: Prepared, anywhere: boolean): Leaf[] {
  const { node, view } = arg;
  if (prepared.storage.has(node)) return [{ node, view: anywhere ? undefined : prepared.storage.look(arg, moves) }];
  if (node.op !== "map") return [];
  const all = following(view.moves, moves);
  return node.args.flatMap((each) => leavesOf(each, all, prepared, anywhere));
}

// Sums along rows that threads share: each thread adds up a stretch of the rows, and the stretches are combined.

/** Sums over fewer places are complete before another thread has started on its share. */
const WORTH_STRETCHING = 16_384;

/** The first dimension that is more than one. */
const firstAxis = (domain: readonly number[]): number =>
  Math.max(
    domain.findIndex((n) => n !== 1),
    0,
  );

/**
 * Whether the task's sums are added up in stretches, one per thread. Only its own shapes decide: the same numbers must
 * come out whatever else is in the kernel.
 */
export function isStretched({ accumulates, domain, node, target }: Task, threads: number): boolean {
  if (threads === 1 || !accumulates || node.dtype === "bool") return false;
  const first = firstAxis(domain);
  // The last dimension is the row itself, which is never divided into stretches.
  const isAlong = first < domain.length - 1 && target.strides[first] === 0 && domain[first]! % threads === 0;
  const places = sizeOf(domain);
  return isAlong && places >= WORTH_STRETCHING && places >= 4 * threads * sizeOf(node.shape);
}

/**
 * Can a task share a kernel with others when some of them are added up in stretches? Such a kernel is always divided along
 * its first dimension, so every other task must write to different places there.
 */
function canShareRows(tasks: readonly Task[], task: Task, threads: number): boolean {
  const isAlone = (each: Task): boolean => !isStretched(each, threads) && !isApartAlongFirst(each);
  if (isStretched(task, threads)) return !tasks.some(isAlone);
  return !tasks.some((each) => isStretched(each, threads)) || isApartAlongFirst(task);
}

function isApartAlongFirst({ domain, target, computed = [] }: Task): boolean {
  const first = firstAxis(domain);
  const axes = target.strides.map((stride, i): Axis => ({ stride: Math.abs(stride), size: domain[i]! }));
  const mine = axes[first];
  const others = [...axes.filter((axis) => axis !== mine), ...computed.map((stride) => ({ stride, size: Infinity }))];
  return mine !== undefined && areApart(mine, others);
}
