import { numpy as np } from "@jax-js/jax";
import {
  HookError,
  Trainer,
  type ContextOf,
  type Diagnosis,
  type Hook,
  type HostBatch,
  type Loss,
  type LossModel,
  type Model,
  type Tensor,
} from "hookline";
import { memoryStore } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { batchNorm, linear, mse, sequential, tanh } from "hookline/nn";
import { adamw, sgd } from "hookline/optim";
import { savedState, testEngine, tinyData, tinyTrainer } from "hookline/testing";
import { expect, test, vi } from "vitest";
import { JaxEngine } from "../engines/jax/jax-engine.ts";
import type { Engine } from "../engines/engine.ts";
import type { TrainerOptions } from "../trainer/options.ts";
import { nanGuard } from "./nan-guard.ts";

const data = tinyData(32);

/** Eight batches; those in `bad` are spoiled, or left out. */
function* batches(bad: readonly number[], leaveOut = false): Generator<HostBatch> {
  for (let i = 0; i < 8; i++) {
    const x = data.x.data.slice(i * 12, (i + 1) * 12);
    if (bad.includes(i) && leaveOut) continue;
    if (bad.includes(i)) x[5] = Number.NaN;
    yield { x: { data: x, shape: [4, 3] }, y: { data: data.y.data.slice(i * 4, (i + 1) * 4), shape: [4, 1] } };
  }
}

const make = (train: () => Iterable<HostBatch>, hooks: Hook[], options: Partial<TrainerOptions> = {}): Trainer =>
  new Trainer({
    model: sequential(linear(3, 8), batchNorm(8), tanh(), linear(8, 1)),
    loss: mse(),
    optimizer: adamw({ lr: 0.05 }),
    train: new DataLoader(train),
    epochs: 1,
    engine: testEngine(),
    signals: false,
    warn: () => undefined,
    hooks,
    ...options,
  });

async function bits(trainer: Trainer): Promise<unknown> {
  const state = await trainer.stateDict();
  return Object.entries(state).map(([name, { data: values }]) => [name, [...new Uint32Array(values.slice().buffer)]]);
}

test.each([{}, { clipNorm: 1 }, { accumulate: 1, clipValue: 0.1 }])(
  "skip: parameters, optimizer and buffers as if the batches had never been (%o)",
  async (options) => {
    await using guarded = make(() => batches([2, 5]), [nanGuard({ action: "skip" })], options);
    const result = await guarded.fit();
    await using without = make(() => batches([2, 5], true), [], options);
    await without.fit();
    // The steps after the bad ones carry the optimizer's state into the parameters.
    expect(await bits(guarded)).toEqual(await bits(without));
    expect(result).toMatchObject({ status: "completed", steps: 8, skippedSteps: 2 });
    expect(result.metrics["nan/steps"]).toBe(2);
  },
);

test("stop, the default: before the bad update is kept, with the field of the batch by name", async () => {
  await using trainer = make(() => batches([3]), [nanGuard()]);
  const result = await trainer.fit();
  await using short = make(() => batches([]), [], { steps: 3 });
  await short.fit();
  expect(await bits(trainer)).toEqual(await bits(short));
  expect(result).toMatchObject({ status: "stopped", requestedBy: "nanGuard", steps: 4 });
  expect(result.reason).toBe(
    "step 4 (loader `train`) changed nothing: the batch has values that are not finite: `x` (1)",
  );
});

test("raise throws with the same words", async () => {
  await using trainer = make(() => batches([0]), [nanGuard({ action: "raise", name: "guard" })]);
  const error: unknown = await trainer.fit().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(HookError);
  expect(error).toMatchObject({ hook: "guard", event: "stepEnd", step: 1 });
  expect((error as Error).message).toContain("the batch has values that are not finite: `x` (1)");
});

test("maxConsecutive ends a run that only skips; a good step in between starts the count anew", async () => {
  const warn = vi.fn();
  await using trainer = make(() => batches([0, 1, 3, 4, 5]), [nanGuard({ action: "skip", maxConsecutive: 3 })], {
    warn,
  });
  const result = await trainer.fit();
  expect(result).toMatchObject({ status: "stopped", steps: 6, skippedSteps: 5 });
  expect(result.reason).toMatch(/^3 consecutive non-finite steps; the last: step 6/);
  expect(warn).toHaveBeenCalledTimes(5);
  expect(warn.mock.calls[0]![0]).toContain("nanGuard: step 1 (loader `train`) changed nothing");
});

/** loss = mean(a · x) + weird(b) */
const twoParams = (weird: (b: Tensor) => Tensor): LossModel => ({
  params: { a: { data: Float32Array.of(1), shape: [1] }, b: { data: Float32Array.of(0, 1), shape: [2] } },
  loss: ({ a, b }, { x }) => x!.mul(a!).mean().add(weird(b!)),
});

const reasonOf = async (model: LossModel, options: Partial<TrainerOptions> = {}): Promise<string> => {
  const hooks = [nanGuard(), ...((options.hooks ?? []) as Hook[])];
  await using trainer = tinyTrainer({ ...options, model, loss: undefined, optimizer: sgd({ lr: 0.1 }), hooks });
  const { reason } = await trainer.fit();
  return reason;
};

test("says what was bad first: loss, gradients by name, or parameters", async () => {
  const logOfLess = twoParams((b) => np.log(b.sub(5)).sum());
  expect(await reasonOf(logOfLess)).toContain("the loss is NaN; batch and parameters are finite");
  // The slope of a square root at 0 is infinite, its value is not.
  const root = twoParams((b) => np.sqrt(b).sum());
  expect(await reasonOf(root)).toContain("the loss is finite, gradients are not: `b` (1)");

  await using trainer = tinyTrainer({ hooks: [nanGuard()] });
  await trainer.loadStateDict({
    weight: { data: Float32Array.of(1, Number.NaN, 3), shape: [1, 3] },
    bias: { data: Float32Array.of(0), shape: [1] },
  });
  expect((await trainer.fit()).reason).toContain("parameters were not finite before the step: `weight` (1)");
});

test("names the first activation that went bad", async () => {
  const log: Model<Tensor, Tensor> = { init: () => ({}), apply: (_, x) => np.log(x.sub(1e6)) };
  const model = sequential(linear(3, 4), tanh(), log, linear(4, 1));
  await using trainer = make(() => batches([]), [nanGuard()], { model });
  expect((await trainer.fit()).reason).toContain(
    "the loss is NaN; batch and parameters are finite; the first activation that is not: `2`",
  );
});

test("a norm that overflows is told apart", async () => {
  const huge = twoParams((b) => b.mul(3e37).sum());
  expect(await reasonOf(huge)).toContain("the gradient norm is Infinity, though every gradient is finite");
});

test("names the micro-batch of an accumulated step", async () => {
  await using trainer = make(() => batches([5]), [nanGuard()], { accumulate: 4 });
  expect((await trainer.fit()).reason).toMatch(/^step 2, micro-batch 1 \(loader `train`\)/);
});

test("the diagnosis is a look at the step as it was: same key, same numbers", async () => {
  const found: Diagnosis[] = [];
  const losses: number[] = [];
  const look: Hook = {
    name: "look",
    needs: ["finite"],
    async onStepEnd(ctx) {
      if (ctx.finite) return;
      found.push(await ctx.diagnose());
      losses.push(ctx.loss);
    },
  };
  const root = twoParams((b) => np.sqrt(b).sum());
  await reasonOf(root, { hooks: [look] });
  expect(found[0]).toEqual({ micro: 0, loaderName: "train", batch: {}, params: {}, loss: losses[0], grads: { b: 1 } });
  const early: Hook = { name: "early", needs: ["finite"], onStepEnd: (ctx) => void ctx.diagnose() };
  await expect(tinyTrainer({ hooks: [early] }).fit()).rejects.toThrow("Check ctx.finite first");
});

test("a loss that a hook sets after the bad step does not blur the look at it", async () => {
  // So small that it is 0, where the slope of a square root is infinite.
  const rootOfZero: Loss = (outputs) => np.sqrt((outputs as Tensor).mul(1e-30).mul(1e-30)).sum();
  const change: Hook = { name: "change", onStepEnd: (ctx) => ctx.setLoss(mse()) };
  await using trainer = tinyTrainer({ loss: rootOfZero, hooks: [change, nanGuard()] });
  expect((await trainer.fit()).reason).toContain("gradients are not: `weight` (3), `bias` (1)");
});

test("a step that a hook skipped is not a bad one", async () => {
  const skip: Hook = { name: "skip", onStepBegin: (ctx) => void (ctx.step > 1 && ctx.skip("step")) };
  const drop: Hook = { name: "drop", onAfterForward: (ctx) => ctx.skip("batch") };
  for (const hook of [skip, drop]) {
    await using trainer = tinyTrainer({ hooks: [hook, nanGuard()] });
    expect((await trainer.fit()).status).toBe("completed");
  }
});

test("no read of the device beyond the loss that a hook looks at", async () => {
  const reads = async (hooks: Hook[]): Promise<number> => {
    const engine: Engine = await JaxEngine.create("wasm");
    const read = vi.spyOn(engine, "read");
    await using trainer = tinyTrainer({ engine, hooks });
    await trainer.fit();
    return read.mock.calls.length;
  };
  const watch: Hook = { name: "watch", needs: ["gradNorm"], onStepEnd: (ctx) => void ctx.loss };
  expect(await reads([watch, nanGuard()])).toBe(await reads([watch]));
});

test("counts go on after a resume", async () => {
  const first = nanGuard({ action: "skip", maxConsecutive: 3 });
  await using trainer = make(() => batches([6, 7]), [first]);
  await trainer.fit();
  const saved = structuredClone(await savedState(first));
  const second = nanGuard({ action: "skip", maxConsecutive: 3 });
  let begun = false;
  const resume: Hook = {
    name: "resume",
    stage: "progress",
    onTrainBegin() {
      void second.load!(saved, 1);
      begun = true;
    },
  };
  await using resumed = make(() => batches([0]), [second, resume]);
  expect((await resumed.fit()).reason).toMatch(/^3 consecutive non-finite steps/);
  expect(begun).toBe(true);
});

/** Saves after these steps. */
const saveAt = (...steps: readonly number[]): Hook => ({
  name: "saveAt",
  onStepEnd: (ctx) => void (steps.includes(ctx.step) && ctx.requestSave()),
});

/** What the parameters and buffers were at each step's end and, in `loaded`, right after a rollback. */
function states(names: readonly string[]) {
  const seen = new Map<number, unknown>();
  const loaded: unknown[] = [];
  const read = async (ctx: Pick<ContextOf<"init">, "params">): Promise<unknown> =>
    Promise.all(names.map(async (name) => [name, [...(await ctx.params.get(name)).data]]));
  const hook: Hook = {
    name: "states",
    onStepEnd: async (ctx) => void seen.set(ctx.step, await read(ctx)),
    onAfterLoad: async (ctx) => void loaded.push(await read(ctx)),
  };
  return { hook, seen, loaded };
}

const TENSORS = ["0.weight", "0.bias", "1.weight", "1.running_mean", "1.num_batches_tracked", "3.weight"];

test("rollback: bad steps change nothing, three in a row lead back to the checkpoint, bit for bit", async () => {
  const { hook, seen, loaded } = states(TENSORS);
  const options = { store: memoryStore(), save: "sync" } as const;
  await using trainer = make(() => batches([3, 4, 5]), [nanGuard({ action: "rollback" }), saveAt(2), hook], options);
  const result = await trainer.fit();
  expect(result).toMatchObject({ status: "completed", steps: 8, skippedSteps: 3 });
  for (const step of [4, 5, 6]) expect(seen.get(step), `step ${step}`).toEqual(seen.get(3));
  expect(seen.get(3)).not.toEqual(seen.get(2));
  expect(loaded).toEqual([seen.get(2)]);
  const { why, ...rest } = result.interventions.find(({ who }) => who === "nanGuard")!;
  expect(rest).toMatchObject({ event: "stepEnd", step: 6, what: expect.stringContaining("rollback") as string });
  expect(why).toMatch(
    /^3 consecutive non-finite steps; the last: step 6 \(loader `train`\) changed nothing: the batch has/,
  );

  // What follows is what a run without the third step would have done: the optimizer went back as well.
  await using without = make(() => batches([2, 3, 4, 5], true), []);
  await without.fit();
  expect(await bits(trainer)).toEqual(await bits(without));
});

test("rollback: it counts anew, training goes on well, and after maxRollbacks the run stops", async () => {
  const run = async (maxRollbacks: number) => {
    const guard = nanGuard({ action: "rollback", rollbackAfter: 2 });
    const options = { store: memoryStore(), save: "sync", maxRollbacks, epochs: 6 } as const;
    await using trainer = make(() => batches([1, 2, 3, 4]), [guard, saveAt(1)], options);
    const losses: number[] = [];
    trainer.on("stepEnd", (ctx) => void (ctx.skipped || losses.push(ctx.loss)));
    const result = await trainer.fit();
    const asked = result.interventions.filter(({ what }) => what.startsWith("rollback")).map(({ step }) => step);
    return { result, losses, asked, state: await savedState(guard) };
  };
  const patient = await run(100);
  expect(patient.result).toMatchObject({ status: "completed", skippedSteps: 24 });
  expect(patient.asked.slice(0, 4)).toEqual([3, 5, 11, 13]);
  expect(patient.losses.every(Number.isFinite)).toBe(true);
  expect(patient.losses.at(-1)).toBeLessThan(patient.losses[0]!);
  expect(patient.state.json).toEqual({ consecutive: 0, total: 24 });

  const limited = await run(3);
  expect(limited.result).toMatchObject({ status: "stopped", steps: 13, requestedBy: "nanGuard" });
  expect(limited.result.reason).toMatch(
    /another rollback after 3, which is `maxRollbacks` \(2 consecutive non-finite steps/,
  );
});

test("rollback: a checkpoint of which only bad steps come is bad itself: to the one before, until a good step", async () => {
  // What is saved at 3 and 4 is not finite, as after an overflow that no guard saw.
  const spoils: Hook = {
    name: "spoils",
    async onStepEnd(ctx) {
      if (ctx.step !== 3) return;
      const names = ["0.weight", "0.bias", "1.weight", "1.bias", "3.weight", "3.bias"];
      const params = await Promise.all(names.map(async (each) => [each, await ctx.params.get(each)] as const));
      params[1]![1].data.fill(Number.NaN);
      ctx.setParams(Object.fromEntries(params));
    },
  };
  const back: string[] = [];
  const look: Hook = { name: "look", onAfterLoad: ({ loaded, step }) => void back.push(`${step}: ${loaded.from}`) };
  const guard = nanGuard({ action: "rollback", rollbackAfter: 2 });
  const options = { store: memoryStore(), save: "sync", epochs: 2, maxRollbacks: 10 } as const;
  await using trainer = make(() => batches([]), [spoils, guard, saveAt(1, 2, 3, 4, 10, 13), look], options);
  trainer.on("batchBegin", (ctx) => {
    if (ctx.step !== 11 && ctx.step !== 12) return;
    ctx.replaceBatch({ ...ctx.batch, x: { ...ctx.batch["x"]!, data: new Float32Array(12).fill(Number.NaN) } });
  });
  const result = await trainer.fit();
  // The last one is another story: good steps have come, and the newest is tried first.
  expect(back).toEqual(["5: step-000004", "7: step-000003", "9: step-000002", "12: step-000010"]);
  expect(result).toMatchObject({ status: "completed", steps: 16, skippedSteps: 8 });
});

test("rollback: without a checkpoint the run stops, and says why", async () => {
  for (const options of [{}, { store: memoryStore() }]) {
    await using trainer = make(() => batches([2, 3, 4]), [nanGuard({ action: "rollback" })], options);
    const result = await trainer.fit();
    expect(result).toMatchObject({ status: "stopped", steps: 5, requestedBy: "nanGuard" });
    expect(result.reason).toMatch(/no checkpoint yet \(3 consecutive non-finite steps; the last: step 5/);
  }
});

test("unknown options and values are errors", () => {
  expect(() => nanGuard({ action: "pause" as never })).toThrow(/nanGuard: Expected `action` to be one of "stop"/);
  expect(() => nanGuard({ action: "rollback", rollbackAfter: 0 })).toThrow(/`rollbackAfter` to be a whole number ≥ 1/);
  expect(() => nanGuard({ maxConsecutiv: 3 } as never)).toThrow(/Did you mean `maxConsecutive`/);
});
