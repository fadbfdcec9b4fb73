// Products in every form that contractions come in, on memory that moves when it grows.
import { afterAll, describe, expect, it, vi } from "vitest";
import { Rng } from "../../data/random.ts";
import type { Contraction } from "./plan/contract.ts";
import { EngineMemory } from "./memory.ts";
import { Products } from "./products.ts";

const memory = new EngineMemory();
const products = new Products(memory);
afterAll(() => products.close());

const rng = new Rng(1);
const put = (length: number): { at: number; data: Float32Array } => {
  const at = memory.allocate(length * 4);
  const data = Float32Array.from({ length }, () => rng.int(7) - 3);
  new Float32Array(memory.memory.buffer, at, length).set(data);
  return { at, data };
};

/** What the library computes, and what it should. */
function both(c: Contraction): { got: number[]; expected: number[] } {
  const { rows: stored, begin } = c.among ?? { rows: c.rows, begin: 0 };
  const left = put(c.batch * stored * c.inner);
  const right = put(c.batch * c.inner * c.columns);
  const out = memory.allocate(c.batch * c.rows * c.columns * 4);
  products.compile(c).run(left.at, right.at, out);
  const expected = Array.from({ length: c.batch * c.rows * c.columns }, (_, n) => {
    const [b, i, j] = [Math.floor(n / (c.rows * c.columns)), Math.floor(n / c.columns) % c.rows, n % c.columns];
    let sum = 0;
    for (let k = 0; k < c.inner; k++) {
      const l = c.leftTransposed ? k * stored + begin + i : i * c.inner + k;
      const r = c.rightTransposed ? j * c.inner + k : k * c.columns + j;
      sum += left.data[b * stored * c.inner + l]! * right.data[b * c.inner * c.columns + r]!;
    }
    return sum + 0;
  });
  const got = Array.from(new Float32Array(memory.memory.buffer, out, expected.length), (value) => value + 0);
  for (const at of [left.at, right.at, out]) memory.free(at);
  return { got, expected };
}

const sides = [false, true].flatMap((left) => [false, true].map((right) => [left, right] as const));
describe.each(sides)("left transposed: %s, right transposed: %s", (leftTransposed, rightTransposed) => {
  it.each([
    [1, 5, 7, 3],
    [1, 1, 40, 30],
    [1, 30, 40, 1],
    [1, 16, 1, 16],
    [3, 5, 7, 4],
    [4, 1, 9, 1],
    [2, 33, 65, 17],
  ])("%i × [%i, %i] × [%i]", (batch, rows, inner, columns) => {
    const { got, expected } = both({ batch, rows, inner, columns, leftTransposed, rightTransposed });
    expect(got).toEqual(expected);
  });
});

it.each([
  [0, 9, 4],
  [4, 9, 5],
  [0, 300, 150],
])("rows of a transposed side: from %i on of %i, %i", (begin, rows, count) => {
  const form = { batch: 1, rows: count, inner: 65, columns: 17, leftTransposed: true, among: { rows, begin } };
  for (const rightTransposed of [false, true]) {
    const { got, expected } = both({ ...form, rightTransposed });
    expect(got).toEqual(expected);
  }
});

it("goes on when memory has grown", () => {
  const form = { batch: 1, rows: 5, inner: 6, columns: 7, leftTransposed: false, rightTransposed: false };
  for (let i = 0; i < 2; i++) {
    const { got, expected } = both(form);
    expect(got).toEqual(expected);
    memory.free(memory.allocate(memory.memory.buffer.byteLength));
  }
});

it("makes no copy of what a product comes to", () => {
  const form = { batch: 1, rows: 512, inner: 4, columns: 512, leftTransposed: false, rightTransposed: false };
  const [left, right, out] = [512 * 4, 4 * 512, 512 * 512].map((length) => memory.allocate(length * 4));
  const product = products.compile(form);
  product.run(left!, right!, out!);
  const before = process.memoryUsage().arrayBuffers;
  product.run(left!, right!, out!);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(512 * 512 * 4);
});

it("computes the same bits without koffi, by the Node binding", async () => {
  vi.resetModules();
  const koffiOrNone = vi.fn(() => undefined);
  vi.doMock("../../platform/koffi.ts", () => ({ koffiOrNone }));
  const other = new (await import("./products.ts")).Products(memory);
  try {
    const convolution = { batch: 2, channels: 16, outputs: 6, size: [7, 9], window: [3, 3], places: [7, 9] } as const;
    const how = {
      strides: [1, 1],
      dilation: [1, 1],
      padding: [
        [1, 1],
        [1, 1],
      ],
    } as const;
    const form = { batch: 1, rows: 33, inner: 65, columns: 17, leftTransposed: true, rightTransposed: false };
    const [left, right] = [put(4096), put(4096)];
    const results = [products, other].flatMap((each) =>
      [each.compile(form), each.convolve({ ...convolution, ...how })].map((compiled) => {
        const out = put(2 * 6 * 7 * 9);
        compiled.run(left.at, right.at, out.at);
        return new Float32Array(memory.memory.buffer, out.at, out.data.length).slice(0, 33 * 17);
      }),
    );
    expect(koffiOrNone).toHaveBeenCalled();
    expect(results[2]).toEqual(results[0]);
    expect(results[3]).toEqual(results[1]);
  } finally {
    other.close();
    vi.doUnmock("../../platform/koffi.ts");
    vi.resetModules();
  }
});
