import { expect, test } from "vitest";
import { Rng } from "../data/random.ts";
import type { Hook, HookState } from "../core/hook.ts";
import { sgd } from "../optim/index.ts";
import { tinyTrainer } from "../testing/index.ts";
import { estimateNoise, gradientNoise, type GradientNoiseOptions } from "./gradient-noise.ts";

test("the estimates are right on average", () => {
  // Gradients of single samples: mean 2 in one dimension, standard deviation 3.
  const rng = new Rng(3);
  const [small, count, rounds] = [4, 8, 4000];
  const sums = { signal: 0, trace: 0 };
  for (let round = 0; round < rounds; round++) {
    const grads = Array.from(
      { length: count },
      () => Array.from({ length: small }, () => 2 + 3 * rng.normal()).reduce((a, b) => a + b) / small,
    );
    const mean = grads.reduce((a, b) => a + b) / count;
    const micro = grads.map((grad) => ({ samples: small, square: grad ** 2 }));
    const { signal, trace } = estimateNoise(micro, mean ** 2)!;
    sums.signal += signal / rounds;
    sums.trace += trace / rounds;
  }
  expect(sums.signal).toBeCloseTo(4, 0);
  expect(Math.abs(sums.trace - 9)).toBeLessThan(0.3);
});

test("a step of unlike micro-batches, or of one, gives no estimate", () => {
  expect(estimateNoise([{ samples: 4, square: 1 }], 1)).toBeUndefined();
  const unlike = [
    { samples: 4, square: 1 },
    { samples: 2, square: 1 },
  ];
  expect(estimateNoise(unlike, 1)).toBeUndefined();
  expect(estimateNoise([...unlike.slice(0, 1), { samples: 4, square: NaN }], 1)).toBeUndefined();
});

/** Runs with the gradients of every event noted by a second hook. */
async function run(options: GradientNoiseOptions, more: object = {}) {
  const steps: { step: number; metrics: Readonly<Record<string, number>> }[] = [];
  const norms: number[][] = [];
  const witness: Hook = {
    name: "witness",
    stage: "progress",
    onError: "throw",
    onStepBegin: () => void norms.push([]),
    onAfterBackward: async (ctx) => void norms.at(-1)!.push(await ctx.grads.norm()),
    onBeforeOptimizerStep: async (ctx) => void norms.at(-1)!.push(await ctx.grads.norm()),
    onLog(ctx) {
      if ("grad/signal" in ctx.logged) steps.push({ step: ctx.step, metrics: ctx.logged });
    },
  };
  const hook = gradientNoise(options);
  const trainer = tinyTrainer({
    samples: 64,
    accumulate: 4,
    logEvery: 1,
    ...more,
    hooks: [hook, witness],
  });
  await trainer.fit();
  return { steps, norms, hook };
}

test("measures a real run: micro-batches against their step", async () => {
  const { steps, norms } = await run({ every: 2 });
  expect(steps.map(({ step }) => step)).toEqual([2, 4]);
  const [micro, whole] = [norms[1]!.slice(0, 4), norms[1]![4]!];
  const expected = estimateNoise(
    micro.map((norm) => ({ samples: 4, square: norm ** 2 })),
    whole ** 2,
  )!;
  expect(steps[0]!.metrics["grad/signal"]).toBeCloseTo(expected.signal, 4);
  expect(steps[0]!.metrics["grad/noiseTrace"]).toBeCloseTo(expected.trace, 4);
  expect(steps[0]!.metrics["grad/noiseScale"]).toBeCloseTo(expected.trace / expected.signal, 4);
});

test("averages with its decay, and the averages are its state", async () => {
  const { steps, norms, hook } = await run({ every: 2, decay: 0.5 });
  const [first, second] = [1, 3].map((i) => {
    const micro = norms[i]!.slice(0, 4).map((norm) => ({ samples: 4, square: norm ** 2 }));
    return estimateNoise(micro, norms[i]![4]! ** 2)!;
  });
  expect(steps[1]!.metrics["grad/signal"]).toBeCloseTo((first!.signal + second!.signal) / 2, 4);
  const state = await hook.state!();
  const other = gradientNoise();
  await other.load!(JSON.parse(JSON.stringify(state)) as HookState, 1);
  expect(await other.state!()).toEqual(state);
  expect(state.json).toMatchObject({ signal: steps[1]!.metrics["grad/signal"] });
});

test("several optimizers are one gradient; the last step of an epoch may be too short to tell", async () => {
  const optimizer = { a: sgd({ lr: 0.01, params: "weight" }), b: sgd({ lr: 0.01, params: "bias" }) };
  const { steps, norms } = await run({ every: 1 }, { optimizer, samples: 20 });
  // Five micro-batches: a step of four, then one of a single.
  expect(steps.map(({ step }) => step)).toEqual([1]);
  const micro = norms[0]!.slice(0, 4).map((norm) => ({ samples: 4, square: norm ** 2 }));
  const [weight, bias] = norms[0]!.slice(4) as [number, number];
  expect(steps[0]!.metrics["grad/signal"]).toBeCloseTo(estimateNoise(micro, weight ** 2 + bias ** 2)!.signal, 4);
});

test("without accumulation it says what it needs", async () => {
  await expect(tinyTrainer({ hooks: [gradientNoise()] }).fit()).rejects.toThrow(
    /set the trainer's `accumulate` to 2 or more/,
  );
});

test("options are checked", () => {
  expect(() => gradientNoise({ decay: 1 })).toThrow(/Expected `decay`/);
  expect(() => gradientNoise({ evry: 1 } as GradientNoiseOptions)).toThrow(/Did you mean `every`\?/);
});
