// A compiled kernel does what its description says, place by place.
import fc from "fast-check";
import { expect, it } from "vitest";
import { runKernel } from "../../../../tests/support/run-kernel.ts";
import { Rng } from "../../../data/random.ts";
import { sizeOf } from "../../../core/arrays.ts";
import { rowMajor } from "../../lower/view.ts";
import type { Access, Kernel, KernelValue, Statement } from "../kernel.ts";
import { collapse } from "../plan/collapse.ts";

const places = (shape: readonly number[]): number[][] =>
  Array.from({ length: sizeOf(shape) }, (_, n) =>
    rowMajor(shape).map((stride, i) => Math.floor(n / stride) % shape[i]!),
  );

/** As the description reads. The numbers are small and whole, so that no order of adding differs. */
function interpret({ outer, values, statements, clear = [] }: Kernel, buffers: readonly number[][]): void {
  for (const { buffer, length } of clear) buffers[buffer]!.fill(0, 0, length);
  for (const row of places(outer)) {
    const totals = new Map<number, number>();
    const kept = new Map<string, number>();
    for (const [i, statement] of statements.entries()) {
      for (const place of places(statement.inner)) {
        const address = (access: Access): number =>
          access.offset +
          access.outer.reduce((sum, stride, axis) => sum + stride * row[axis]!, 0) +
          access.inner.reduce((sum, stride, axis) => sum + stride * place[axis]!, 0) +
          (access.at ?? []).reduce((sum, { value, stride }) => sum + evaluate(value) * stride, 0);
        const evaluate = (index: number): number => {
          const value = values[index]!;
          switch (value.kind) {
            case "load":
              return buffers[value.from.buffer]![address(value.from)]!;
            case "literal":
              return value.value;
            case "index":
              return (value.loop === "outer" ? row : place)[value.axis]!;
            case "reduced":
              return totals.get(value.statement)!;
            case "kept":
              return kept.get(`${value.statement}:${place.join()}`)!;
            case "map":
              break;
          }
          const [a, b] = value.args.map(evaluate) as [number, number];
          return { cast: a, add: a + b, sub: a - b, min: Math.min(a, b), max: Math.max(a, b) }[value.fn as "add"];
        };
        const result = evaluate(statement.value);
        kept.set(`${i}:${place.join()}`, result);
        if (statement.kind === "store") buffers[statement.to.buffer]![address(statement.to)] = result;
        if (statement.kind === "accumulate") buffers[statement.to.buffer]![address(statement.to)]! += result;
        if (statement.kind === "reduce") totals.set(i, (totals.get(i) ?? 0) + result);
      }
      if (statement.kind === "reduce" && statement.to) {
        const at = statement.to.outer.reduce((sum, stride, axis) => sum + stride * row[axis]!, statement.to.offset);
        buffers[statement.to.buffer]![at] = totals.get(i)!;
      }
    }
  }
}

/** A kernel of loads in any order, sums, rows that are kept, gathers and scatters, and arrays for it. */
function randomKernel(seed: number): { kernel: Kernel; buffers: number[][]; dtypes: ("float32" | "int32")[] } {
  const rng = new Rng(seed);
  const pick = <T>(from: readonly T[]): T => from[rng.int(from.length)]!;
  const outer = Array.from({ length: rng.int(3) }, () => 1 + rng.int(4));
  const inner = Array.from({ length: rng.int(3) }, () => 1 + rng.int(11));
  const domain = [...outer, ...inner];
  const buffers: number[][] = [];
  const dtypes: ("float32" | "int32")[] = [];
  const buffer = (length: number, dtype: "float32" | "int32" = "float32", fill = () => rng.int(7) - 3): number => {
    buffers.push(Array.from({ length }, fill));
    dtypes.push(dtype);
    return buffers.length - 1;
  };
  const split = (strides: readonly number[]) => ({
    outer: strides.slice(0, outer.length),
    inner: strides.slice(outer.length),
  });
  const whole = (): Access => ({ buffer: buffer(sizeOf(domain)), offset: 0, ...split(rowMajor(domain)) });
  /** Every other number of a buffer, the even ones and the odd ones. */
  const halves = (): [Access, Access] => {
    const strides = split(rowMajor(domain).map((stride) => 2 * stride));
    const even = { buffer: buffer(2 * sizeOf(domain)), offset: 0, ...strides };
    return [even, { ...even, offset: 1 }];
  };
  /** Straight, turned about, backwards or repeated along some dimensions. */
  const seen = (): Access => {
    const order = domain.map((_, i) => i).sort(() => rng.next() - 0.5);
    const lying = rowMajor(order.map((axis) => domain[axis]!));
    let offset = 0;
    const strides = domain.map((n, axis) => {
      if (rng.int(4) === 0) return 0;
      const stride = rng.int(3) === 0 ? rowMajor(domain)[axis]! : lying[order.indexOf(axis)]!;
      if (rng.int(4) > 0) return stride;
      offset += (n - 1) * stride;
      return -stride;
    });
    return { buffer: buffer(2 * sizeOf(domain) + 1), offset: Math.max(offset, 0), ...split(strides) };
  };
  const within = (access: Access): Access => {
    const least = [...access.outer, ...access.inner].reduce((sum, s, i) => sum + Math.min(s, 0) * (domain[i]! - 1), 0);
    const most = [...access.outer, ...access.inner].reduce((sum, s, i) => sum + Math.max(s, 0) * (domain[i]! - 1), 0);
    while (buffers[access.buffer]!.length < most - least + 1) buffers[access.buffer]!.push(rng.int(7) - 3);
    return { ...access, offset: -least };
  };
  const values: KernelValue[] = [];
  const statements: Statement[] = [];
  const add = (value: KernelValue): number => values.push(value) - 1;
  const floats = (): number[] => values.flatMap(({ dtype }, i) => (dtype === "float32" ? [i] : []));
  add({ kind: "load", from: within(seen()), dtype: "float32" });
  add({ kind: "literal", value: 2, dtype: "float32" });
  const clear: NonNullable<Kernel["clear"]>[number][] = [];
  for (let i = 0; i < 6 + rng.int(6); i++) {
    const kind = rng.int(9);
    if (kind === 0) add({ kind: "load", from: within(seen()), dtype: "float32" });
    else if (kind === 8) add({ kind: "load", from: pick(halves()), dtype: "float32" });
    else if (kind === 1 && domain.length > 0) {
      const axis = rng.int(domain.length);
      const isOuter = axis < outer.length;
      const at = {
        loop: isOuter ? ("outer" as const) : ("inner" as const),
        axis: isOuter ? axis : axis - outer.length,
      };
      const index = add({ kind: "index", ...at, dtype: "int32" });
      add({ kind: "map", fn: "cast", args: [index], dtype: "float32" });
    } else if (kind === 2) {
      const ids = whole();
      buffers[ids.buffer] = buffers[ids.buffer]!.map(() => rng.int(5));
      dtypes[ids.buffer] = "int32";
      const index = add({ kind: "load", from: ids, dtype: "int32" });
      const table = { buffer: buffer(10), offset: 1, ...split(domain.map(() => 0)), at: [{ value: index, stride: 2 }] };
      if (rng.int(2)) add({ kind: "load", from: table, dtype: "float32" });
      else {
        const to = { ...table, buffer: buffer(10) };
        clear.push({ buffer: to.buffer, length: 10, fn: "add", dtype: "float32" });
        statements.push({ kind: "accumulate", fn: "add", inner, value: pick(floats()), to });
      }
    } else if (kind === 3) {
      const value = pick(floats());
      statements.push({ kind: "reduce", fn: "add", inner, value, ...(rng.int(2) && { to: rowTarget() }) });
      const total = add({ kind: "reduced", statement: statements.length - 1, dtype: "float32" });
      // Small again, whatever it came to.
      const low = add({
        kind: "map",
        fn: "max",
        args: [total, add({ kind: "literal", value: -9, dtype: "float32" })],
        dtype: "float32",
      });
      add({ kind: "map", fn: "min", args: [low, 1], dtype: "float32" });
    } else if (kind === 4) {
      const value = pick(floats());
      if (rng.int(2)) statements.push({ kind: "keep", inner, value });
      else statements.push({ kind: "store", inner, value, to: pick([whole(), ...halves()]) });
      add({ kind: "kept", statement: statements.length - 1, dtype: "float32" });
    } else {
      const sum = add({
        kind: "map",
        fn: pick(["add", "sub", "min", "max"] as const),
        args: [pick(floats()), pick(floats())],
        dtype: "float32",
      });
      add({ kind: "map", fn: "min", args: [sum, 1], dtype: "float32" });
    }
  }
  statements.push({ kind: "store", inner, value: floats().at(-1)!, to: whole() });
  if (rng.int(2))
    for (const to of halves().sort(() => rng.next() - 0.5))
      statements.push({ kind: "store", inner, value: pick(floats()), to });
  return { kernel: { name: "", buffers: buffers.length, outer, values, statements, clear }, buffers, dtypes };

  function rowTarget(): Access {
    return { buffer: buffer(sizeOf(outer)), offset: 0, outer: rowMajor(outer), inner: [] };
  }
}

it("any kernel, as it is and with its loops made few", () => {
  fc.assert(
    fc.property(fc.nat({ max: 1_000_000 }), (seed) => {
      const { kernel, buffers, dtypes } = randomKernel(seed);
      const expected = buffers.map((buffer) => [...buffer]);
      interpret(kernel, expected);
      for (const form of [kernel, collapse(kernel)]) {
        const arrays = buffers.map((data, i) =>
          dtypes[i] === "int32" ? Int32Array.from(data) : Float32Array.from(data),
        );
        runKernel(form, arrays);
        expect(arrays.map((array) => Array.from(array, (value) => value + 0))).toEqual(
          expected.map((buffer) => buffer.map((value) => value + 0)),
        );
      }
    }),
    { numRuns: 150 },
  );
});

it("adds numbers up in the same order whether or not it can do four at once", () => {
  const rng = new Rng(3);
  for (const length of [1, 3, 4, 5, 8, 11, 30]) {
    const data = Float32Array.from({ length }, () => rng.normal());
    const sums = [1, -1].map((direction) => {
      const seen = direction === 1 ? data : data.toReversed();
      const from = { buffer: 0, offset: direction === 1 ? 0 : length - 1, outer: [], inner: [direction] };
      const to = { buffer: 1, offset: 0, outer: [], inner: [] };
      const out = new Float32Array(1);
      const kernel: Kernel = {
        name: "",
        buffers: 2,
        outer: [],
        values: [{ kind: "load", from, dtype: "float32" }],
        statements: [{ kind: "reduce", fn: "add", inner: [length], value: 0, to }],
      };
      runKernel(kernel, [seen, out]);
      return out[0];
    });
    expect(sums[1]).toBe(sums[0]);
  }
});
