import { describe, expect, it } from "vitest";
import { onAll } from "../../tests/support/local-ranks.ts";
import { findDesync, hashOf, encode, gatherMessages } from "./exchange.ts";

const tensors = (change?: (last: Float32Array) => void) => {
  const arrays = { "0.weight": Float32Array.of(1, 2, 3), "0.bias": Float32Array.of(4, 5) };
  change?.(arrays["0.bias"]);
  return Object.entries(arrays).map(([name, data]) => ({ name, hash: hashOf(data) }));
};

describe("findDesync", () => {
  it("says nothing when all are the same", async () => {
    expect(await onAll(3, (strategy) => findDesync(strategy, tensors(), 100))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("names the first that differs, and the ranks that differ from most, on all alike", async () => {
    const errors = await onAll(4, ({ rank, ...rest }) => {
      const mine = tensors((bias) => void (bias[0]! += rank === 2 ? 1e-6 : 0));
      return findDesync({ rank, ...rest }, mine, 100);
    });
    for (const error of errors)
      expect(error!.message).toContain(
        "`0.bias` is not the same on all processes after step 100: rank 2 differs from ranks 0, 1, 3",
      );
  });
});

describe("hashOf", () => {
  it("is of every bit, of the order and of the length", () => {
    const numbers = Float32Array.of(0, 1, 2, 3, 4);
    const others = [
      Float32Array.of(-0, 1, 2, 3, 4),
      Float32Array.of(0, 1, 2, 3, 4.0000005),
      Float32Array.of(1, 0, 2, 3, 4),
      Float32Array.of(0, 1, 2, 3, 4, 0),
      new Float32Array(5),
      new Float32Array(6),
    ];
    const hashes = [numbers, ...others].map((each) => hashOf(each));
    expect(new Set(hashes).size).toBe(hashes.length);
    expect(hashes.every(Number.isSafeInteger)).toBe(true);
  });

  it("is the same wherever the numbers lie", () => {
    const inside = Float32Array.of(9, 1, 2, 9).subarray(1, 3);
    expect(hashOf(inside)).toBe(hashOf(Float32Array.of(1, 2)));
  });
});

it("what some say reaches all, in the order of the ranks", async () => {
  const words = [undefined, { asked: "ünïcode ✓" }, undefined, [1, 2, 3]];
  const sent = words.map((word) => (word === undefined ? new Uint8Array(0) : encode(word)));
  const lengths = sent.map(({ length }) => length);
  const heard = await onAll(4, (strategy) => gatherMessages(strategy, sent[strategy.rank]!, lengths));
  for (const each of heard)
    expect(each).toEqual([
      { rank: 1, said: { asked: "ünïcode ✓" } },
      { rank: 3, said: [1, 2, 3] },
    ]);
});
