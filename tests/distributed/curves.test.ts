// One, two and four processes at the same batches learn the same: what they share is work, not what they compute.
import { beforeAll, describe, expect, it } from "vitest";
import { distance, play } from "./play.ts";
import { mpirunWorks } from "./ranks.ts";
import type { Scene } from "./scene.ts";

const CURVES: readonly Scene[] = [
  { name: "mlp on wasm", steps: 80 },
  { name: "mlp on native", steps: 80, engine: "native" },
  { name: "gpt on wasm", model: "gpt", steps: 80, lr: 2e-3 },
  { name: "gpt on native", model: "gpt", steps: 80, lr: 2e-3, engine: "native" },
  { name: "masked labels, accumulated", model: "masked", epochs: 6, lr: 2e-3, accumulate: 3, batchSize: 5 },
  { name: "accumulated and clipped", steps: 60, accumulate: 3, batchSize: 10, clipNorm: 0.1 },
  // Batches of 12 and one of a single row: some ranks have none of it.
  { name: "a ragged end", samples: 25, epochs: 4, evalEvery: "1 epoch" },
];
const COUNTS = [1, 2, 4] as const;

describe.skipIf(!mpirunWorks)("1, 2 and 4 ranks at the same global batch", () => {
  let played: Awaited<ReturnType<typeof play>>[];
  let again: Awaited<ReturnType<typeof play>>;

  beforeAll(async () => {
    played = [];
    for (const ranks of COUNTS) played.push(await play(ranks, CURVES));
    again = await play(2, CURVES);
  });

  describe.each(CURVES.map(({ name }) => name))("%s", (name) => {
    it("has the same curve and the same metrics", () => {
      const [alone, ...others] = played.map((seen) => seen(name)[0]!);
      expect(alone!.losses.at(-1)).toBeLessThan(alone!.losses[0]!);
      for (const other of others) {
        expect(distance(alone!, other)).toBeLessThan(1e-5);
        for (const [metric, value] of Object.entries(alone!.metrics))
          expect(Math.abs(other.metrics[metric]! / value - 1), metric).toBeLessThan(1e-5);
        expect(other.samplesSeen).toBe(alone!.samplesSeen);
      }
    });

    it("is the same on every rank, bit for bit, and in another run", () => {
      for (const seen of played) {
        const [main, ...others] = seen(name);
        for (const other of others) {
          expect(other.digest).toBe(main!.digest);
          expect(other.losses).toEqual(main!.losses);
          expect(other.metrics).toEqual(main!.metrics);
        }
      }
      expect(again(name)[0]!.digest).toBe(played[1]!(name)[0]!.digest);
      expect(again(name)[0]!.losses).toEqual(played[1]!(name)[0]!.losses);
    });
  });

  it("the plan says why it is not one program", () => {
    expect(played[1]!("mlp on wasm")[0]!.plan).toContain("because 2 processes train together");
    expect(played[0]!("mlp on wasm")[0]!.plan).toContain("fused");
  });
});
