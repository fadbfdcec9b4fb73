// What a run leaves behind: the heap and the device's buffers at two steps of it, and the ways of running a step.
import type { Hook } from "hookline";
import { DataLoader } from "hookline/data";
import { linear, relu, sequential } from "hookline/nn";
import { tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import { JaxEngine } from "../../src/engines/jax/jax-engine.ts";
import { heapInUse } from "./heap.ts";
import type { LiveBuffers } from "./live-buffers.ts";

export interface Growth {
  /** Bytes of heap over the whole run, judged by its quieter stretches: a leak is in every one, a compiler's find in some. */
  readonly heap: number;
  readonly buffers: number;
}

/** Epochs of 4,096 batches: each leaves an entry in the history, which is meant to be kept. */
const SAMPLES = 16_384;
const STRETCHES = 10;

/** Trains `steps` steps and compares what is in use from stretch to stretch; the first one warms up. */
export async function growth(options: TinyOptions, live: LiveBuffers, steps: number): Promise<Growth> {
  const seen: { heap: number; buffers: number }[] = [];
  const probe: Hook = {
    name: "probe",
    stage: "progress",
    onStepEnd({ step }) {
      if (step % (steps / STRETCHES) === 0) seen.push({ heap: heapInUse(), buffers: live.count });
    },
  };
  const engine = await JaxEngine.create("wasm");
  const trainer = tinyTrainer({
    samples: SAMPLES,
    steps,
    engine,
    ...options,
    hooks: [...(options.hooks ?? []), probe],
  });
  await trainer.fit();
  await trainer.close();
  await engine.close();
  const grown = seen.slice(1).map(({ heap }, i) => heap - seen[i]!.heap);
  const quiet = grown.sort((a, b) => a - b)[Math.floor(grown.length / 4)]!;
  return { heap: quiet * grown.length, buffers: seen.at(-1)!.buffers - seen[0]!.buffers };
}

/** Ten hooks at several places of a step. They look at numbers, which must not keep anything alive. */
export const tenHooks = (): Hook[] =>
  Array.from({ length: 10 }, (_, i) => ({
    name: `hook ${i}`,
    onStepBegin(ctx) {
      if (ctx.step < 0) ctx.stop("never");
    },
    onBatchEnd: (ctx) => void ctx.batchIdx,
    onStepEnd(ctx) {
      if (Number.isNaN(ctx.loss)) ctx.stop("NaN");
      if (i === 0) ctx.log({ seen: ctx.samplesSeen });
    },
    onLog: (ctx) => void ctx.logged,
  }));

/** Every way of running a step. */
export const CASES: Readonly<Record<string, () => TinyOptions>> = {
  "probes in every step and evaluation": () => ({
    model: sequential(linear(3, 4), relu(), linear(4, 1)),
    eval: new DataLoader(tinyData(8), { batchSize: 4 }),
    evalEvery: 50,
    hooks: [
      { name: "stats", probes: { match: "*" }, onStepEnd: ({ activations }) => void activations.stats("1") },
      {
        name: "arrays",
        every: 3,
        probes: { match: ["0", "2"], collect: "arrays" },
        onBatchEnd: ({ activations }) => void activations.get("2"),
        onEvalBatchEnd: ({ activations }) => void activations.names,
      },
      // Rare enough: each evaluation it changes stays in the audit, which is meant to be kept.
      { name: "zero", every: 500, probes: { match: "1", replace: (x) => x.mul(0) } },
    ],
  }),
  "one fused program": () => ({}),
  "gradients in between": () => ({
    hooks: [{ name: "norm", onAfterBackward: async (ctx) => void (await ctx.grads.norm()) }],
  }),
  "gradients changed": () => ({
    clipNorm: 1,
    hooks: [{ name: "scale", onBeforeOptimizerStep: (ctx) => ctx.grads.scale(0.5) }],
  }),
  "the forward pass first": () => ({
    hooks: [{ name: "look", needs: ["outputs"], onAfterForward: (ctx) => void [ctx.loss, ctx.outputs] }],
  }),
  "accumulation with skips": () => ({
    accumulate: 3,
    hooks: [
      {
        name: "skip",
        // Rare enough: each skip stays in the audit, which is meant to be kept.
        onBeforeForward: (ctx) => (ctx.step % 1000 === 7 && ctx.batchIdx % 2 === 0 ? ctx.skip("batch") : undefined),
        onAfterBackward: (ctx) => (ctx.step % 1000 === 17 && ctx.batchIdx % 2 === 0 ? ctx.skip("batch") : undefined),
        onBeforeOptimizerStep: (ctx) => (ctx.step % 1000 === 27 ? ctx.skip("step") : undefined),
      },
    ],
  }),
  "evaluations in between": () => ({
    eval: new DataLoader(tinyData(8), { batchSize: 4 }),
    evalEvery: 50,
    hooks: [{ name: "outputs", needs: ["outputs"], onEvalBatchEnd: (ctx) => void ctx.outputs }],
  }),
};
