// Sampling: what is left of a distribution is what transformers leaves of it, and draws have its frequencies.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Rng } from "../../data/random.ts";
import { candidates, Sampler, type Sampling } from "./sampler.ts";

interface Case {
  readonly sampling: Partial<Sampling>;
  readonly prompt: readonly number[];
  readonly logits: readonly number[];
  readonly ids: readonly number[];
  readonly probabilities: readonly number[];
}

const CASES = JSON.parse(
  readFileSync(new URL("../../../tests/lm/fixtures/sampling.json", import.meta.url), "utf8"),
) as readonly Case[];

/** How often each token is drawn. */
function frequencies(sampling: Sampling, logits: Float32Array, prompt: readonly number[], draws: number): number[] {
  const counts = Array.from(logits, () => 0);
  for (let i = 0; i < draws; i++) counts[new Sampler(sampling, new Rng(3, i), prompt).pick(logits)]!++;
  return counts;
}

test.each(CASES.map((each) => [JSON.stringify(each.sampling), each] as const))(
  "%s: the tokens and probabilities of transformers",
  (_, { sampling, prompt, logits, ids, probabilities }) => {
    const given = { temperature: 1, ...sampling };
    if (sampling.repetitionPenalty === undefined) {
      const left = candidates(Float32Array.from(logits), given);
      const all = left.weights.reduce((a, b) => a + b, 0);
      expect(left.ids).toEqual(ids);
      left.weights.forEach((weight, i) => expect(weight / all).toBeCloseTo(probabilities[i]!, 6));
    }
    const draws = 20_000;
    const counts = frequencies(given, Float32Array.from(logits), prompt, draws);
    expect(counts.flatMap((count, id) => (count > 0 && !ids.includes(id) ? [id] : []))).toEqual([]);
    // Pearson's statistic; rare tokens are taken as one. Its mean is the number of classes less one.
    const classes = ids.map((id, i) => ({ seen: counts[id]!, expected: probabilities[i]! * draws }));
    const rare = classes.filter(({ expected }) => expected < 10);
    const merged = { seen: sum(rare.map((x) => x.seen)), expected: sum(rare.map((x) => x.expected)) };
    const used = [...classes.filter(({ expected }) => expected >= 10), ...(merged.expected >= 10 ? [merged] : [])];
    const statistic = sum(used.map(({ seen, expected }) => (seen - expected) ** 2 / expected));
    const freedom = Math.max(used.length - 1, 1);
    // Six standard deviations above the mean.
    expect(statistic).toBeLessThan(freedom + 6 * Math.sqrt(2 * freedom));
  },
);

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

test("temperature 0 takes the most likely token, the first of equals, and a penalty counts", () => {
  const logits = Float32Array.of(1, 4, 3.9, 4);
  expect(new Sampler({ temperature: 0 }, new Rng(0), []).pick(logits)).toBe(1);
  const penalized = new Sampler({ temperature: 0, repetitionPenalty: 1.5 }, new Rng(0), [3]);
  expect([penalized.pick(logits), penalized.pick(logits), penalized.pick(logits)]).toEqual([1, 2, 1]);
  expect(logits).toEqual(Float32Array.of(1, 4, 3.9, 4));
});

test("the same seed draws the same tokens", () => {
  const logits = Float32Array.from({ length: 50 }, (_, i) => Math.sin(i));
  const draw = (seed: number): number[] => {
    const sampler = new Sampler({ temperature: 1 }, new Rng(seed), []);
    return Array.from({ length: 20 }, () => sampler.pick(logits));
  };
  expect(draw(5)).toEqual(draw(5));
  expect(draw(5)).not.toEqual(draw(6));
});
