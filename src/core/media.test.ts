import { describe, expect, it } from "vitest";
import { ContextError } from "./errors.ts";
import { histogram, image, isMedia, text } from "./media.ts";

describe("histogram", () => {
  it("counts numbers between edges, and leaves out what is not finite", () => {
    expect(histogram([0, 1, 1, 2, NaN, Infinity], { bins: 2 })).toEqual({
      kind: "histogram",
      edges: [0, 1, 2],
      counts: [1, 3],
      sum: 4,
      sumOfSquares: 6,
    });
  });

  it("takes equal numbers, and none", () => {
    expect(histogram([3, 3], { bins: 2 })).toMatchObject({ counts: [2, 0], edges: [3, 4, 5] });
    expect(histogram([])).toMatchObject({ counts: [0], edges: [0, 1] });
    expect(histogram(new Float32Array([1, 2]), { bins: 1 })).toMatchObject({ counts: [2] });
  });

  it("takes counts as they are, one fewer than edges", () => {
    expect(histogram({ edges: [0, 1, 3], counts: [5, 6] })).toEqual({
      kind: "histogram",
      edges: [0, 1, 3],
      counts: [5, 6],
    });
    expect(() => histogram({ edges: [0, 1], counts: [5, 6] })).toThrow(ContextError);
  });
});

describe("image", () => {
  it("takes bytes as they are and other numbers from 0 to 1", () => {
    expect(image({ data: Uint8Array.of(1, 2, 3), shape: [1, 1, 3] })).toEqual({
      kind: "image",
      width: 1,
      height: 1,
      channels: 3,
      pixels: Uint8Array.of(1, 2, 3),
    });
    expect(image({ data: Float32Array.of(-1, 0.5, 1, 2), shape: [2, 2] }).pixels).toEqual(
      Uint8Array.of(0, 128, 255, 255),
    );
  });

  it.each([[[2]], [[2, 2, 2]], [[1, 1]], [[0, 4]]])("refuses shape %j", (shape) => {
    expect(() => image({ data: new Uint8Array(8), shape })).toThrow("expected an array of shape [height, width]");
  });
});

it("tells media from other things", () => {
  expect([text("a"), histogram([1])].every(isMedia)).toBe(true);
  expect([null, 1, "text", {}, { kind: "video" }].some(isMedia)).toBe(false);
});
