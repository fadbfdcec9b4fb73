// The steps of a program as work for threads: what is done before, in parts, and after.
import type { ReduceOp } from "../../lower/graph.ts";
import { keyOf, type Kernel } from "../kernel.ts";
import type { Step } from "../plan/steps.ts";
import { sizeOf } from "../../../core/arrays.ts";
import { describeConvolution } from "../conv/convolution.ts";
import { correlatingParts, correlationRanges, slidingParts, tileBytes } from "../conv/work.ts";
import { scratchOf } from "../wasm/phases.ts";
import { divideKernel, divideProduct } from "./divide.ts";
import type { Part, Place } from "./parts.ts";

/** A step that threads may share. One that they do not has one part. */
interface Work {
  readonly label: string;
  /** On the first thread, before and after the parts. */
  readonly before: readonly Part[];
  readonly parts: readonly Part[];
  readonly after: readonly Part[];
}

export interface WorkPlan {
  /** By step; undefined for a sort. */
  readonly works: readonly (Work | undefined)[];
  /** The parts' kernels refer to these by number. */
  readonly kernels: readonly Kernel[];
}

/** `own` gives memory that stays for as long as the program. */
export function planWork(steps: readonly Step[], threads: number, own: (bytes: number) => number): WorkPlan {
  const kernels: Kernel[] = [];
  const numbers = new Map<string, number>();
  // Equal layers have equal kernels, which are compiled once.
  const add = (kernel: Kernel): number => {
    const key = kernelKey(kernel);
    const number = numbers.get(key) ?? kernels.push(kernel) - 1;
    numbers.set(key, number);
    return number;
  };
  // One row at a time is in work in each thread, in one kernel at a time.
  const most = Math.max(...steps.map((step) => (step.kind === "kernel" ? scratchOf(step.kernel).bytes : 0)), 16);
  const scratches = Array.from({ length: threads }, () => own(most));
  const tile = Math.max(...steps.map(tileBytes), 0);
  const tiles = tile === 0 ? [] : Array.from({ length: threads }, () => own(tile));
  const works = steps.map((step): Work | undefined => {
    if (step.kind === "contraction") return productWork(step, threads);
    if (step.kind === "convolution") return convolutionWork(step, threads, { add, own, scratches, tiles });
    return step.kind === "kernel" ? kernelWork(step, threads, { add, own, scratches }) : undefined;
  });
  return { works, kernels };
}

/** Kernels of one key do the same, whatever their names. */
const kernelKey = (kernel: Kernel): string =>
  [JSON.stringify({ ...kernel, name: "", values: [] }), ...kernel.values.map(keyOf)].join("\n");

const buffer = (index: number, elements = 0): Place => ({ buffer: index, offset: elements * 4 });

function productWork(step: Extract<Step, { kind: "contraction" }>, threads: number): Work {
  const { contraction, left, right, out } = step;
  const whole = { contraction, left: 0, right: 0, out: 0 };
  const { batch, rows, inner, columns, leftTransposed, rightTransposed } = contraction;
  const sides = `${leftTransposed ? "T" : ""}×${rightTransposed ? "T" : ""}`;
  return {
    label: `product ${batch > 1 ? `${batch}·` : ""}[${rows},${inner}]${sides}[${inner},${columns}]`,
    before: [],
    parts: (divideProduct(contraction, threads) ?? [whole]).map((part) => ({
      kind: "contraction",
      contraction: part.contraction,
      left: buffer(left, part.left),
      right: buffer(right, part.right),
      out: buffer(out, part.out),
    })),
    after: [],
  };
}

function convolutionWork(
  step: Extract<Step, { kind: "convolution" }>,
  threads: number,
  means: Means & { readonly tiles: readonly number[] },
): Work {
  const { how, convolution, out } = step;
  const label = `${how} ${describeConvolution(convolution)}`;
  if (how === "slide") return { label, before: [], parts: slidingParts(step, threads), after: [] };
  const ranges = correlationRanges(convolution, threads);
  const length = sizeOf([convolution.batch, convolution.outputs, ...convolution.places]);
  const sums = ranges.map((_, i): Place => (i === 0 ? buffer(out) : { at: means.own(length * 4) }));
  const combined = combining({ buffer: 0, length, fn: "add", dtype: "float32" }, sums.length);
  return {
    label,
    before: [],
    parts: correlatingParts(step, ranges, { add: means.add, tiles: means.tiles, sums }),
    after:
      sums.length === 1
        ? []
        : [{ kind: "kernel", kernel: means.add(combined), places: sums, rest: [means.scratches[0]!] }],
  };
}

interface Means {
  add(kernel: Kernel): number;
  own(bytes: number): number;
  readonly scratches: readonly number[];
}

function kernelWork(step: Extract<Step, { kind: "kernel" }>, threads: number, means: Means): Work {
  const { kernel } = step;
  const places = step.buffers.map((index) => buffer(index));
  const label = labelOf(kernel);
  const part = (which: number, where: readonly Place[], ...rest: number[]): Part => ({
    kind: "kernel",
    kernel: which,
    places: where,
    rest,
  });
  const divided = divideKernel(kernel, threads);
  if (!divided) {
    const whole = part(means.add(kernel), places, means.scratches[0]!);
    return { label, before: [], parts: [whole], after: [] };
  }
  const clear = kernel.clear ?? [];
  const isOwn = (index: number): boolean => divided.own.includes(index);
  // What all parts write to is cleared before them, what is a part's own by the part.
  const shared = clear.filter((each) => !isOwn(each.buffer));
  const clearing: Kernel = { ...kernel, outer: [], values: [], statements: [], clear: shared };
  const before = shared.length > 0 ? [part(means.add(clearing), places, means.scratches[0]!)] : [];
  const which = means.add({ ...divided.kernel, clear: clear.filter((each) => isOwn(each.buffer)) });
  const lengths = new Map(clear.map((each) => [each.buffer, each.length]));
  const placesOf = divided.ranges.map((_, thread) =>
    // The first part's own is the buffer itself.
    thread === 0 ? places : places.map((p, i) => (isOwn(i) ? { at: means.own(lengths.get(i)! * 4) } : p)),
  );
  return {
    label,
    before,
    parts: divided.ranges.map(({ begin, count }, i) => part(which, placesOf[i]!, means.scratches[i]!, begin, count)),
    after: clear
      .filter((each) => isOwn(each.buffer))
      .map((each) => {
        const sides = placesOf.map((where) => where[each.buffer]!);
        return part(means.add(combining(each, sides.length)), sides, means.scratches[0]!);
      }),
  };
}

/** Adds up, or whatever `fn` is, what the parts came to; the first of the buffers takes it. */
function combining({ length, fn, dtype }: NonNullable<Kernel["clear"]>[number], sides: number): Kernel {
  const access = (index: number) => ({ buffer: index, offset: 0, outer: [], inner: [1] });
  const loads = Array.from({ length: sides }, (_, i) => ({ kind: "load", from: access(i), dtype }) as const);
  const sums = loads.slice(1).map((_, i) => {
    const before = i === 0 ? 0 : sides + i - 1;
    return { kind: "map", fn: fn satisfies ReduceOp, args: [before, i + 1], dtype } as const;
  });
  const values = [...loads, ...sums];
  return {
    name: "combine",
    buffers: sides,
    outer: [],
    values,
    statements: [{ kind: "store", inner: [length], value: values.length - 1, to: access(0) }],
  };
}

function labelOf({ outer, statements, name }: Kernel): string {
  return `kernel [${outer.join()}][${(statements[0]?.inner ?? []).join()}] ${name}`;
}
