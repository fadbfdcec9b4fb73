// Hooks look at points inside the model, at their cadence; steps in which nobody looks are as ever.
import {
  OptionError,
  Trainer,
  type Activations,
  type Diagnosis,
  type Hook,
  type HostArray,
  type Outputs,
  type ProbeRequest,
  type Tensor,
} from "hookline";
import { DataLoader } from "hookline/data";
import { linear, mse, relu, sequential, tap } from "hookline/nn";
import { sgd } from "hookline/optim";
import { testEngine } from "hookline/testing";
import { describe, expect, test } from "vitest";
import { asyncEngine, recordingEngine } from "../support/engines.ts";
import { classes, classifier, looking, mlp, POINTS, text, transformer } from "../support/probed.ts";
import { byAnotherPlan } from "../support/to-rounding.ts";

function hostStats({ data }: HostArray) {
  const x = Array.from(data);
  const mean = x.reduce((a, b) => a + b, 0) / x.length;
  const sorted = [...x].sort((a, b) => a - b);
  return {
    norm: Math.hypot(...x),
    mean,
    std: Math.sqrt(x.reduce((a, b) => a + (b - mean) ** 2, 0) / x.length),
    min: sorted[0]!,
    max: sorted.at(-1)!,
    median: (sorted[x.length / 2 - 1]! + sorted[x.length / 2]!) / 2,
  };
}

describe("points", () => {
  test("of a transformer, in the order of the program", async () => {
    await using trainer = transformer();
    expect(await trainer.probePoints({ x: text.x })).toEqual(POINTS);
    // Without a batch: a first one, whether or not something has run.
    expect(await trainer.probePoints()).toEqual(POINTS);
    await trainer.fit();
    expect(await trainer.probePoints()).toEqual(POINTS);
  });

  test("are found without disturbing the training data", async () => {
    const losses = async (trainer: Trainer): Promise<number> => (await trainer.fit()).metrics["train/loss"]!;
    await using looked = classifier();
    await looked.probePoints();
    await using other = classifier();
    expect(await losses(looked)).toBe(await losses(other));
  });

  test.each<[string, ProbeRequest["match"], string[]]>([
    ["a name", "blocks", ["blocks"]],
    ["a glob", "blocks.*.attn.pattern", ["blocks.0.attn.pattern", "blocks.1.attn.pattern"]],
    ["part of a name", "scores", ["blocks.0.attn.scores", "blocks.1.attn.scores"]],
    ["several", ["head", "*.branch"], ["blocks.0.mlp.branch", "blocks.1.mlp.branch", "head"]],
    ["a predicate", (name) => !name.includes("."), ["tokens", "blocks", "head"]],
    ["all", "*", POINTS],
  ])("are matched by %s", async (_, match, expected) => {
    const { hook, seen } = looking({ match });
    await using trainer = transformer({ hooks: [hook], steps: 1 });
    await trainer.fit();
    expect(seen[0]!.names).toEqual(expected);
  });

  test("that do not exist are an error that lists those that do", async () => {
    await using trainer = classifier({ hooks: [looking({ match: "blokcs" }).hook] });
    const error: unknown = await trainer.fit().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(OptionError);
    expect((error as Error).message).toBe(
      'Hook `looking`: probes: `match` ("blokcs") is no point of the model. Points: 0, 1, 2.',
    );
    await expect(trainer.runWithProbes(classes, { match: ["nope"] })).rejects.toThrow(
      'runWithProbes: `match` (["nope"]) is no point of the model. Points: 0, 1, 2.',
    );
    await expect(transformer().runWithProbes(text, { match: "hed" })).rejects.toThrow("Did you mean `head`?");
  });

  test("a model without any says how to have some", async () => {
    await using trainer = new Trainer({
      ...classifier().options,
      model: linear(5, 3),
      hooks: [looking({ match: "*" }).hook],
    });
    await expect(trainer.fit()).rejects.toThrow('tap("name", x) marks one anywhere');
    expect((await trainer.runWithProbes(classes)).activations.names).toEqual([]);
  });
});

describe("what is collected", () => {
  test("arrays are the outputs of the model cut off there", async () => {
    const { hook, seen } = looking({ match: ["0", "1"], collect: "arrays" });
    await using trainer = classifier({ hooks: [hook], steps: 1 });
    const before = await trainer.stateDict();
    const first = new DataLoader(classes, { batchSize: 4 });
    first.begin(0, 0);
    const batch = (await first.next())!;
    await trainer.fit();
    for (const [point, layers] of Object.entries({ "0": 1, "1": 2 })) {
      const cut = sequential(...[linear(5, 8), relu()].slice(0, layers));
      await using half = new Trainer({ ...classifier().options, model: cut, loss: mse() });
      await half.loadStateDict({ "0.weight": before["0.weight"]!, "0.bias": before["0.bias"]! });
      const expected = (await half.predict(new DataLoader(batch, { batchSize: 4 }))) as HostArray;
      expect(seen[0]!.activations.get(point)).toEqual(expected);
      expect(expected.shape).toEqual([4, 8]);
    }
  });

  test("statistics are those of the arrays", async () => {
    await using trainer = transformer();
    const { activations: arrays } = await trainer.runWithProbes(text);
    const { activations } = await trainer.runWithProbes(text, { collect: "stats", percentiles: [50], histogram: 4 });
    expect(activations.names).toEqual(POINTS);
    for (const point of POINTS) {
      const expected = hostStats(arrays.get(point));
      const { percentiles, histogram, ...stats } = activations.stats(point);
      for (const key of ["norm", "mean", "std", "min", "max"] as const)
        expect(stats[key], `${key} of ${point}`).toBeCloseTo(expected[key], 4);
      expect(percentiles![0], point).toBeCloseTo(expected.median, 5);
      expect(histogram!.counts.reduce((a, b) => a + b, 0)).toBe(arrays.get(point).data.length);
      expect(stats.nonFinite).toBe(0);
    }
  });

  test("dead units are those that are 0 for the whole batch", async () => {
    await using trainer = classifier();
    const state = await trainer.stateDict();
    const bias = Float32Array.from(state["0.bias"]!.data);
    // Two of eight units never get above 0.
    bias[1] = bias[6] = -100;
    await trainer.loadStateDict({ ...state, "0.bias": { data: bias, shape: [8] } });
    const { activations } = await trainer.runWithProbes(classes, { collect: "stats" });
    expect(activations.stats("1").dead).toBeGreaterThanOrEqual(0.25);
    expect(activations.stats("0").dead).toBe(0);
    const { activations: arrays } = await trainer.runWithProbes(classes, { match: "1" });
    const { data } = arrays.get("1");
    const dead = Array.from({ length: 8 }, (_, unit) => data.every((x, i) => i % 8 !== unit || x === 0));
    expect(activations.stats("1").dead).toBe(dead.filter(Boolean).length / 8);
  });

  test("values that are not finite are counted, and the first point with one is found", async () => {
    await using trainer = classifier();
    const state = await trainer.stateDict();
    const weight = Float32Array.from(state["2.weight"]!.data).fill(3e38);
    await trainer.loadStateDict({ ...state, "2.weight": { ...state["2.weight"]!, data: weight } });
    const big = { ...classes, x: { ...classes.x, data: classes.x.data.map((v) => Math.abs(v) * 1e3) } };
    const { activations } = await trainer.runWithProbes(big, { collect: "stats" });
    expect(activations.stats("1").nonFinite).toBe(0);
    expect(activations.stats("2").nonFinite).toBeGreaterThan(0);
  });

  test("with several micro-batches: the last one's in stepEnd, each one's own in batchEnd", async () => {
    const firsts: number[] = [];
    const { hook, seen } = looking(
      { match: "0", collect: "arrays" },
      { onBatchEnd: ({ activations }) => void firsts.push(activations.get("0").data[0]!) },
    );
    await using trainer = classifier({ hooks: [hook], accumulate: 2, steps: 1 });
    await trainer.fit();
    expect(firsts).toHaveLength(2);
    expect(firsts[0]).not.toBe(firsts[1]);
    expect(seen[0]!.activations.get("0").data[0]).toBe(firsts[1]);
  });

  test.each(["onAfterForward", "onBeforeBackward", "onAfterBackward", "onBatchEnd"] as const)(
    "is there in %s",
    async (method) => {
      const found: number[] = [];
      const look = ({ activations }: { activations: Activations }): void =>
        void found.push(activations.stats("2").norm);
      const { hook, seen } = looking({ match: "2" });
      await using one = classifier({ hooks: [{ name: "other", probes: { match: "2" }, [method]: look }], steps: 2 });
      await one.fit();
      await using two = classifier({ hooks: [hook], steps: 2 });
      await two.fit();
      expect(found).toEqual(seen.map(({ activations }) => activations.stats("2").norm));
      expect(found).toHaveLength(2);
    },
  );

  test("each hook sees what it asked for, and no more", async () => {
    const stats = looking({ match: "0" });
    const arrays = looking({ match: ["0", "2"], collect: "arrays" }, { name: "arrays" });
    const percentiles = looking({ match: "1", percentiles: [50] }, { name: "percentiles" });
    await using trainer = classifier({ hooks: [stats.hook, arrays.hook, percentiles.hook], steps: 1 });
    await trainer.fit();
    const [of, at, p] = [stats, arrays, percentiles].map(({ seen }) => seen[0]!.activations) as [
      Activations,
      Activations,
      Activations,
    ];
    expect([of.names, at.names, p.names]).toEqual([["0"], ["0", "2"], ["1"]]);
    expect(of.stats("0").percentiles).toBeUndefined();
    expect(p.stats("1").percentiles).toHaveLength(1);
    expect(of.stats("0").norm).toBeCloseTo(Math.hypot(...at.get("0").data), 4);
    expect(() => of.get("0")).toThrow('say collect: "arrays"');
    expect(() => at.stats("0")).toThrow('say collect: "stats"');
    expect(() => of.stats("2")).toThrow("No activations of `2` here. Points: 0.");
  });

  test("a skipped step has none; a hook that did not ask is told how", async () => {
    const { hook, seen } = looking({ match: "*" });
    const skip: Hook = { name: "skip", onStepBegin: (ctx) => (ctx.step === 2 ? ctx.skip("step") : undefined) };
    await using trainer = classifier({ hooks: [skip, hook] });
    await trainer.fit();
    expect(seen.map(({ names }) => names.length)).toEqual([3, 0, 3, 3]);
    await using other = classifier({ hooks: [{ name: "naive", onStepEnd: (ctx) => void ctx.activations }] });
    await expect(other.fit()).rejects.toThrow("This hook did not ask for activations. Say probes:");
  });

  test("what was not read in its event is gone", async () => {
    let kept: Activations | undefined;
    const hook: Hook = { name: "late", probes: { match: "0" }, onStepEnd: (ctx) => void (kept = ctx.activations) };
    await using trainer = classifier({ hooks: [hook], steps: 1 });
    await trainer.fit();
    await trainer.close();
    expect(() => kept!.stats("0")).toThrow("These activations are gone");
  });
});

describe("cost", () => {
  const programs = async (hooks: readonly Hook[], model = mlp()): Promise<string[]> => {
    const recording = await recordingEngine();
    await using trainer = new Trainer({ ...classifier({ hooks, engine: recording.engine }).options, model });
    await trainer.fit();
    await recording.engine.close();
    return recording.programs;
  };

  test("with nobody asking the program is that of a model without points", async () => {
    const [first, second, third] = [linear(5, 8), relu(), linear(8, 3)];
    const part = <T>(all: Record<string, T>, prefix: string): Record<string, T> =>
      Object.fromEntries(
        Object.entries(all)
          .filter(([name]) => name.startsWith(prefix))
          .map(([name, value]) => [name.slice(prefix.length), value]),
      );
    const nameless: ReturnType<typeof mlp> = {
      init: (key) => mlp().init(key),
      apply(params, x, ctx) {
        const h = second.apply({}, first.apply(part(params, "0."), x, ctx) as never, ctx);
        return third.apply(part(params, "2."), h as never, ctx);
      },
    };
    expect(await programs([])).toEqual(await programs([], nameless));
  });

  test("a probe that is never due leaves the programs as they are", async () => {
    const { hook } = looking({ match: "*" }, { every: { every: 1, from: "1000 steps" } });
    const listening = (methods: Partial<Hook>): Hook[] => [{ name: "listening", every: 1000, ...methods }];
    expect(await programs([hook])).toEqual(await programs(listening({ onStepEnd() {} })));
    const [due] = await programs([looking({ match: "*" }).hook]);
    expect(due).not.toEqual((await programs([]))[0]);
  });

  test("steps between two looks run the plain program", async () => {
    const { hook, seen } = looking({ match: "*" }, { every: 2 });
    const plans: string[] = [];
    await using trainer = classifier({ hooks: [hook] });
    trainer.on("stepBegin", () => void plans.push(trainer.explainPlan()));
    await trainer.fit();
    expect(seen.map(({ step }) => step)).toEqual([2, 4]);
    expect(plans.map((plan) => plan.includes("activations come back, because hook `looking` probes them"))).toEqual([
      false,
      true,
      false,
      true,
    ]);
    expect(plans.every((plan) => plan.startsWith("fused"))).toBe(true);
  });

  test("a last look `atEnd` sees the last step", async () => {
    const { hook, seen } = looking({ match: "*" }, { every: { every: 3, atEnd: true } });
    await using trainer = classifier({ hooks: [hook] });
    await trainer.fit();
    expect(seen.map(({ step, names }) => [step, names.length])).toEqual([
      [3, 3],
      [4, 3],
    ]);
  });
});

test("an engine that must be awaited gives the same", async () => {
  const run = async (engine: NonNullable<Parameters<typeof transformer>[0]>["engine"]) => {
    const stats = looking({ match: "*", percentiles: [10, 90] }, { every: 2 });
    const forward: number[] = [];
    const evals: number[] = [];
    const more: Hook = {
      name: "more",
      probes: { match: "head", collect: "arrays" },
      onAfterForward: ({ activations }) => void forward.push(activations.get("head").data[0]!),
      onEvalBatchEnd: ({ activations }) => void evals.push(activations.get("head").data[0]!),
    };
    const zero: Hook = { name: "zero", probes: { match: "blocks.1", replace: (x) => x.mul(0.5) } };
    await using trainer = transformer({ engine, hooks: [stats.hook, more, zero] });
    const { metrics } = await trainer.fit();
    const { activations } = await trainer.runWithProbes(text, { collect: "stats" });
    return {
      metrics,
      forward,
      evals,
      stats: stats.seen.map(({ step, names, activations: own }) => [step, names.map((name) => own.stats(name))]),
      once: activations.names.map((name) => activations.stats(name)),
    };
  };
  const engine = await asyncEngine();
  const awaited = await run(engine);
  await engine.close();
  // Adam makes steps of the rounding errors of the keys' bias, and the points beside it show them.
  expect(awaited).toEqual(byAnotherPlan(await run(testEngine()), 5e-3));
  expect(awaited.forward).toHaveLength(4);
  expect(awaited.evals).toHaveLength(2);
});

test("a bare loss function may have points too", async () => {
  const { hook, seen } = looking({ match: "error" });
  await using trainer = new Trainer({
    model: {
      params: { w: { data: Float32Array.of(1, 2, 3, 4, 5), shape: [5] } },
      loss: ({ w }, { x }) => tap("error", x!.mul(w!)).sum(),
    },
    optimizer: sgd({ lr: 0.1 }),
    train: new DataLoader(classes, { batchSize: 4 }),
    engine: testEngine(),
    signals: false,
    steps: 1,
    hooks: [hook],
  });
  await trainer.fit();
  expect(seen[0]!.activations.stats("error").norm).toBeGreaterThan(0);
});

describe("what went bad first", () => {
  const look = (found: Diagnosis[]): Hook => ({
    name: "look",
    needs: ["finite"],
    async onStepEnd(ctx) {
      if (!ctx.finite) found.push(await ctx.diagnose());
    },
  });

  test.each([false, true])("is the first point in the order of the program, awaited: %s", async (awaited) => {
    const found: Diagnosis[] = [];
    const seen: number[] = [];
    const engine = await (awaited ? asyncEngine() : recordingEngine().then((recording) => recording.engine));
    const probed: Hook = {
      name: "probed",
      after: "look",
      probes: { match: "tokens" },
      onStepEnd: ({ activations }) => void seen.push(activations.stats("tokens").nonFinite),
    };
    await using trainer = transformer({ engine, hooks: [look(found), probed], steps: 1 });
    const state = await trainer.stateDict();
    const name = "blocks.1.mlp.0.weight";
    await trainer.loadStateDict({ ...state, [name]: { ...state[name]!, data: new Float32Array(16 * 32).fill(3e38) } });
    await trainer.fit();
    expect(found.map(({ activation, params }) => [activation, params])).toEqual([["blocks.1.mlp.0", {}]]);
    // The look at the bad step does not disturb what others see.
    expect(seen).toEqual([0]);
    await trainer.close();
    await engine.close();
  });

  test("is nothing when only the loss is bad, or when the model has no points", async () => {
    const found: Diagnosis[] = [];
    const options = { hooks: [look(found)], steps: 1, loss: (y: Outputs) => (y as Tensor).sum().mul(0).add(Infinity) };
    await using one = new Trainer({ ...classifier().options, ...options });
    await one.fit();
    await using two = new Trainer({ ...classifier().options, ...options, model: linear(5, 3) });
    await two.fit();
    expect(found.map(({ activation }) => activation)).toEqual([undefined, undefined]);
  });
});
