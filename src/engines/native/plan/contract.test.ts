// Which dimensions of a dot are batch, rows and columns, and how its sides lie.
import { describe, expect, it } from "vitest";
import { moveAll, whole, type Move, type View } from "../../lower/view.ts";
import { byStride, contraction, isPacked, lies, rolesOf } from "./contract.ts";

const view = (shape: number[], ...moves: Move[]): View => moveAll(whole(shape), moves)!;
const broadcast = (shape: number[]): Move => ({ kind: "broadcast", shape });
const reshape = (shape: number[]): Move => ({ kind: "reshape", shape });
/** x of [4, 3] and w of [5, 3], each as [4, 5, 3]. */
const x = view([4, 3], reshape([4, 1, 3]), broadcast([4, 5, 3]));
const w = view([5, 3], broadcast([4, 5, 3]));

describe("roles", () => {
  it("are found by who repeats what", () => {
    expect(rolesOf(x, w)).toEqual({ batch: [], rows: [0], columns: [1] });
    expect(rolesOf(w, x)).toEqual({ batch: [], rows: [1], columns: [0] });
    const batched = view([2, 4, 3], reshape([2, 4, 1, 3]), broadcast([2, 4, 5, 3]));
    const other = view([2, 5, 3], reshape([2, 1, 5, 3]), broadcast([2, 4, 5, 3]));
    expect(rolesOf(batched, other)).toEqual({ batch: [0], rows: [1], columns: [2] });
  });

  it("leave out dimensions of one", () => {
    expect(rolesOf(view([1, 4, 3]), view([1, 4, 3]))).toEqual({ batch: [1], rows: [], columns: [] });
  });

  it("there are none where both repeat, or one repeats what is summed", () => {
    expect(rolesOf(view([3], broadcast([4, 3])), view([3], broadcast([4, 3])))).toBeUndefined();
    expect(rolesOf(view([4, 1], broadcast([4, 3])), view([4, 3]))).toBeUndefined();
  });
});

describe("how a side lies", () => {
  it("straight or transposed, whatever the dimensions that it repeats", () => {
    expect(lies(x, [], [0])).toBe("straight");
    expect(lies(view([3, 4], { kind: "permute", order: [1, 0] }), [], [0])).toBe("transposed");
  });

  it("in no such way when it was sliced, flipped or its rows lie otherwise", () => {
    const slice: Move = {
      kind: "slice",
      ranges: [
        [0, 4],
        [0, 2],
      ],
    };
    expect(lies(view([4, 3], slice), [], [0])).toBeUndefined();
    expect(lies(view([4, 3], { kind: "flip", axes: [0] }), [], [0])).toBeUndefined();
    const turned = view([2, 4, 3], { kind: "permute", order: [1, 0, 2] });
    expect(lies(turned, [], [0, 1])).toBeUndefined();
    expect(lies(turned, [], byStride([0, 1], turned))).toBe("straight");
  });

  it("is packed without a gap, from the first number on", () => {
    expect(isPacked(view([2, 3]), [0, 1])).toBe(true);
    expect(isPacked(view([2, 3]), [1, 0])).toBe(false);
    expect(isPacked(view([2, 1, 3]), [1, 0, 2])).toBe(true);
  });
});

it("says what the matrix library is to do", () => {
  expect(contraction([4, 5], 3, { batch: [], rows: [0], columns: [1] }, "straight", "straight")).toEqual({
    batch: 1,
    rows: 4,
    columns: 5,
    inner: 3,
    leftTransposed: false,
    rightTransposed: true,
  });
});
