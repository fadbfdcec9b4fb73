// Views look at the numbers that NumPy's own operations would copy.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sizeOf } from "../../core/arrays.ts";
import { isWhole, move, moveAll, rowMajor, whole, type Move, type View } from "./view.ts";

/** The elements that a view shows, in order. */
function elements({ shape, strides, offset }: View): number[] {
  return Array.from({ length: sizeOf(shape) }, (_, n) => {
    const place = rowMajor(shape).map((stride, i) => Math.floor(n / stride) % shape[i]!);
    return place.reduce((at, coordinate, i) => at + coordinate * strides[i]!, offset);
  });
}

const look = (shape: number[], ...moves: Move[]): number[] | undefined => {
  const view = moveAll(whole(shape), moves);
  return view && elements(view);
};

describe("moves", () => {
  it("permutes, slices, flips", () => {
    expect(look([2, 3], { kind: "permute", order: [1, 0] })).toEqual([0, 3, 1, 4, 2, 5]);
    expect(
      look([2, 3], {
        kind: "slice",
        ranges: [
          [1, 2],
          [0, 2],
        ],
      }),
    ).toEqual([3, 4]);
    expect(look([2, 3], { kind: "flip", axes: [1] })).toEqual([2, 1, 0, 5, 4, 3]);
  });

  it("broadcasts as NumPy does", () => {
    expect(look([3, 1], { kind: "broadcast", shape: [2, 3, 2] })).toEqual([0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]);
  });

  it("looks through windows that overlap", () => {
    expect(look([4], { kind: "windows", window: [2], strides: [1] })).toEqual([0, 1, 1, 2, 2, 3]);
    expect(look([2, 5], { kind: "windows", window: [3], strides: [2] })).toEqual([0, 1, 2, 2, 3, 4, 5, 6, 7, 7, 8, 9]);
  });

  it("says when a reshape needs a copy", () => {
    expect(look([2, 3], { kind: "permute", order: [1, 0] }, { kind: "reshape", shape: [6] })).toBeUndefined();
    expect(look([2, 3, 4], { kind: "permute", order: [0, 2, 1] }, { kind: "reshape", shape: [8, 3] })).toBeUndefined();
  });

  it("merges what is repeated", () => {
    const moves: Move[] = [
      { kind: "broadcast", shape: [4, 5, 3] },
      { kind: "reshape", shape: [20, 3] },
    ];
    expect(moveAll(whole([3]), moves)!.strides).toEqual([0, 1]);
    const gradient: Move[] = [
      { kind: "reshape", shape: [2, 3, 1] },
      { kind: "broadcast", shape: [2, 3, 4] },
      { kind: "permute", order: [0, 2, 1] },
      { kind: "reshape", shape: [8, 3] },
    ];
    expect(moveAll(whole([2, 3]), gradient)).toBeUndefined();
  });

  it("keeps empty views empty", () => {
    expect(look([0, 3], { kind: "reshape", shape: [3, 0] })).toEqual([]);
    expect(look([2, 0], { kind: "flip", axes: [1] })).toEqual([]);
  });
});

it("a reshape that succeeds shows the same elements in the same order", () => {
  const dims = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 4 });
  fc.assert(
    fc.property(dims, fc.infiniteStream(fc.nat()), fc.boolean(), (shape, random, repeat) => {
      const order = shape.map((_, i) => i).sort(() => (random.next().value % 3) - 1);
      let view = move(whole(shape), { kind: "permute", order })!;
      if (repeat) view = move(view, { kind: "broadcast", shape: [2, ...view.shape] })!;
      const target = regroup(view.shape, () => random.next().value);
      const reshaped = move(view, { kind: "reshape", shape: target });
      if (reshaped) expect(elements(reshaped)).toEqual(elements(view));
      else expect(isWhole(view)).toBe(false);
    }),
  );
});

/** Another shape of the same size: some neighbours multiplied, some ones put in. */
function regroup(shape: readonly number[], random: () => number): number[] {
  const out: number[] = [];
  for (const n of shape) {
    if (out.length > 0 && random() % 2 === 0) out.push(out.pop()! * n);
    else out.push(...(random() % 3 === 0 ? [1, n] : [n]));
  }
  return out;
}

it("knows the whole array, whatever the strides of dimensions of one", () => {
  expect(isWhole(whole([2, 3]))).toBe(true);
  expect(isWhole({ shape: [1, 3], strides: [0, 1], offset: 0, moves: [] })).toBe(true);
  expect(isWhole(move(whole([2, 3]), { kind: "permute", order: [1, 0] })!)).toBe(false);
});
