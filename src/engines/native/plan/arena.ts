// Places for the buffers between steps: two that are never needed at the same time share theirs.
import type { Plan, PlannedBuffer, Step } from "./steps.ts";
import { sizeOf } from "../../../core/arrays.ts";
import type { Access, Kernel, KernelValue, Statement } from "../kernel.ts";
import { readLater } from "../wasm/phases.ts";

const ALIGN = 64;

export interface Arena {
  /** Byte offsets by buffer; undefined for those that are not temporary. */
  readonly offsets: readonly (number | undefined)[];
  readonly bytes: number;
}

/** `inPlace`: by buffer, the one whose place it takes in the last step that touches that. */
export function planArena({ buffers, steps }: Plan, inPlace: ReadonlyMap<number, number> = new Map()): Arena {
  const lives = new Map<number, { from: number; to: number }>();
  for (const [i, step] of steps.entries()) {
    for (const buffer of touched(step)) {
      if (buffers[buffer]!.source.kind !== "temporary") continue;
      const life = lives.get(buffer);
      if (life) life.to = i;
      else lives.set(buffer, { from: i, to: i });
    }
  }
  const ownerOf = (buffer: number): number => {
    const before = inPlace.get(buffer);
    return before === undefined ? buffer : ownerOf(before);
  };
  for (const buffer of inPlace.keys()) {
    const [life, owner] = [lives.get(buffer)!, lives.get(ownerOf(buffer))!];
    owner.to = Math.max(owner.to, life.to);
    lives.delete(buffer);
  }
  const offsets: (number | undefined)[] = buffers.map(() => undefined);
  // The largest first: the small ones find room between them.
  const order = [...lives].sort(([a], [b]) => buffers[b]!.length - buffers[a]!.length);
  const places = new Places(order.length);
  for (const [buffer, { from, to }] of order) {
    const bytes = Math.ceil((buffers[buffer]!.length * 4) / ALIGN) * ALIGN;
    offsets[buffer] = places.take(bytes, from, to);
  }
  for (const buffer of inPlace.keys()) offsets[buffer] = offsets[ownerOf(buffer)];
  return { offsets, bytes: places.end };
}

/** What was placed, by where it begins: four numbers each, since every new buffer is compared with all that are there. */
class Places {
  /** Bytes behind the last. */
  end = 0;
  #count = 0;
  readonly #at: Float64Array;
  readonly #ends: Float64Array;
  readonly #from: Int32Array;
  readonly #to: Int32Array;

  constructor(most: number) {
    [this.#at, this.#ends] = [new Float64Array(most), new Float64Array(most)];
    [this.#from, this.#to] = [new Int32Array(most), new Int32Array(most)];
  }

  /** The first room that nothing needs from one step to another. */
  take(bytes: number, from: number, to: number): number {
    const [count, ats, ends, froms, tos] = [this.#count, this.#at, this.#ends, this.#from, this.#to];
    let at = 0;
    for (let i = 0; i < count; i++) {
      if (froms[i]! > to || from > tos[i]!) continue;
      if (ats[i]! - at >= bytes) break;
      if (ends[i]! > at) at = ends[i]!;
    }
    let behind = count;
    while (behind > 0 && ats[behind - 1]! > at) behind--;
    for (const each of [ats, ends, froms, tos]) each.copyWithin(behind + 1, behind, count);
    [ats[behind], ends[behind], froms[behind], tos[behind]] = [at, at + bytes, from, to];
    this.#count++;
    this.end = Math.max(this.end, at + bytes);
    return at;
  }
}

// Numbers that nobody but the kernel that makes them asks for need no memory: they stay in its registers, or, for later
// loops over the same row, in its scratch memory.

type KernelStep = Extract<Step, { kind: "kernel" }>;

/** Longer rows would push what they are made of out of the first cache. */
const LONGEST_ROW = 4096;

export function keepInside(steps: readonly Step[], buffers: readonly PlannedBuffer[]): Step[] {
  const users = new Map<number, number>();
  for (const step of steps) {
    for (const buffer of new Set(touched(step))) users.set(buffer, (users.get(buffer) ?? 0) + 1);
  }
  const isInside = (buffer: number): boolean => buffers[buffer]!.source.kind === "temporary" && users.get(buffer) === 1;
  return steps.map((step) => (step.kind === "kernel" ? withoutStores(step, isInside) : step));
}

/** The buffers of a step. */
export const touched = (step: Step): readonly number[] => {
  if (step.kind === "kernel") return step.buffers;
  if (step.kind === "convolution") return [step.image, step.kernel, step.out];
  return step.kind === "contraction" ? [step.left, step.right, step.out] : [step.from, step.to];
};

function withoutStores({ kernel, ...step }: KernelStep, isInside: (buffer: number) => boolean): KernelStep {
  const later = readLater(kernel);
  const statements = kernel.statements.map((statement, i): Statement => {
    if (statement.kind !== "store" || statement.to.at || !isInside(step.buffers[statement.to.buffer]!))
      return statement;
    const { to, inner, value } = statement;
    const others = kernel.statements.some(
      (other) => other !== statement && "to" in other && other.to?.buffer === to.buffer,
    );
    const loaded = kernel.values.some((each) => each.kind === "load" && each.from.buffer === to.buffer);
    if (others || loaded || (later.has(i) && sizeOf(inner) > LONGEST_ROW)) return statement;
    return { kind: "keep", inner, value };
  });
  return { ...step, ...withUsedBuffers({ ...kernel, statements }, step.buffers) };
}

/** The kernel with only those buffers that it still uses. */
function withUsedBuffers(kernel: Kernel, buffers: readonly number[]): Pick<KernelStep, "kernel" | "buffers"> {
  const used = new Set<number>([
    ...kernel.values.flatMap((value) => (value.kind === "load" ? [value.from.buffer] : [])),
    ...kernel.statements.flatMap((s) => ("to" in s && s.to ? [s.to.buffer] : [])),
    ...(kernel.clear ?? []).map(({ buffer }) => buffer),
  ]);
  const order = [...buffers.keys()].filter((buffer) => used.has(buffer));
  const renumbered = <T extends { readonly buffer: number }>(of: T): T => ({ ...of, buffer: order.indexOf(of.buffer) });
  return {
    buffers: order.map((buffer) => buffers[buffer]!),
    kernel: {
      ...kernel,
      buffers: order.length,
      values: kernel.values.map((value): KernelValue =>
        value.kind === "load" ? { ...value, from: renumbered<Access>(value.from) } : value,
      ),
      statements: kernel.statements.map((s): Statement =>
        "to" in s && s.to ? { ...s, to: renumbered<Access>(s.to) } : s,
      ),
      ...(kernel.clear && { clear: kernel.clear.map(renumbered) }),
    },
  };
}
