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
  /** By where they begin. */
  const placed: { at: number; end: number; from: number; to: number }[] = [];
  // The largest first: the small ones find room between them.
  const order = [...lives].sort(([a], [b]) => buffers[b]!.length - buffers[a]!.length);
  for (const [buffer, { from, to }] of order) {
    const bytes = Math.ceil((buffers[buffer]!.length * 4) / ALIGN) * ALIGN;
    let at = 0;
    for (const other of placed) {
      if (other.from > to || from > other.to) continue;
      if (other.at - at >= bytes) break;
      at = Math.max(at, other.end);
    }
    const behind = placed.findIndex((other) => other.at > at);
    placed.splice(behind < 0 ? placed.length : behind, 0, { at, end: at + bytes, from, to });
    offsets[buffer] = at;
  }
  for (const buffer of inPlace.keys()) offsets[buffer] = offsets[ownerOf(buffer)];
  return { offsets, bytes: placed.reduce((most, { end }) => Math.max(most, end), 0) };
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
