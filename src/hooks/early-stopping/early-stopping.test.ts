import { afterEach, describe, expect, test, vi } from "vitest";
import { DataLoader } from "../../data/data-loader.ts";
import type { Hook, HookState } from "../../core/hook.ts";
import type { RunResult } from "../../core/loop/result.ts";
import { savedState, testContext, tinyData, tinyTrainer, type TinyOptions } from "../../testing/index.ts";
import type { Trainer } from "../../trainer/trainer.ts";
import { earlyStopping, type EarlyStoppingOptions } from "./early-stopping.ts";

const loader = (samples = 4): DataLoader => new DataLoader(tinyData(samples, 2), { batchSize: 4 });

/** Logs one value after the other, so that a run of a real trainer shows just these. */
function script(metric: string, values: readonly number[], event: "onEvalEnd" | "onStepEnd" = "onEvalEnd"): Hook {
  let at = 0;
  return {
    name: `script ${metric}`,
    logs: [metric],
    [event]: (ctx: { log(values: Record<string, number>): void }) =>
      ctx.log({ [metric]: values[at++] ?? values.at(-1)! }),
  };
}

/** An epoch is one step and one evaluation; `values` are what `val/x` shows. */
function scripted(values: readonly number[], options: EarlyStoppingOptions, more: TinyOptions = {}): Trainer {
  const { hooks = [], ...rest } = more;
  const watcher = earlyStopping({ monitor: "val/x", mode: "min", ...options });
  return tinyTrainer({
    samples: 4,
    eval: loader(),
    epochs: 20,
    hooks: [script("val/x", values), ...hooks, watcher],
    ...rest,
  });
}

const run = (...args: Parameters<typeof scripted>): Promise<RunResult> => scripted(...args).fit();

afterEach(() => {
  vi.restoreAllMocks();
});

describe("patience", () => {
  test("stops after so many checks without improvement and says who, what and why", async () => {
    const result = await run([3, 2, 2.1, 2.05, 2.2, 1], { patience: 3 });
    expect(result).toMatchObject({ status: "stopped", steps: 5, requestedBy: "earlyStopping" });
    expect(result.reason).toBe("earlyStopping: val/x has not improved on 2 for 3 checks");
  });

  test("counts epochs and steps as well as checks", async () => {
    // Four steps an epoch, an evaluation every two.
    const twice = { samples: 16, evalEvery: 2 };
    const byEpoch = await run([1, 2], { patience: "2 epochs" }, twice);
    expect([byEpoch.steps, byEpoch.reason]).toEqual([10, "earlyStopping: val/x has not improved on 1 for 2 epochs"]);
    const bySteps = await run([1, 2], { patience: "3 steps" }, twice);
    expect([bySteps.steps, bySteps.reason]).toEqual([6, "earlyStopping: val/x has not improved on 1 for 4 steps"]);
    const byChecks = await run([1, 2], { patience: "3 checks" }, twice);
    expect(byChecks.steps).toBe(8);
  });

  test("mode: max, and auto by the metric's name", async () => {
    const rising = [1, 2, 3, 4, 4, 4];
    expect((await run(rising, { mode: "max", patience: 2 })).steps).toBe(6);
    expect((await run(rising, { mode: "auto", patience: 2 })).steps).toBe(3);
    const accuracy = tinyTrainer({
      samples: 4,
      eval: loader(),
      epochs: 6,
      hooks: [script("val/accuracy", rising), earlyStopping({ monitor: "val/accuracy", patience: 2 })],
    });
    expect((await accuracy.fit()).steps).toBe(6);
  });

  test("minDelta: an absolute number, or a share of the best", async () => {
    const slow = [10, 9.95, 9.9, 9.85, 9.8, 9.75];
    expect((await run(slow, { patience: 2, minDelta: 0.01 }, { epochs: 6 })).status).toBe("completed");
    expect((await run(slow, { patience: 2, minDelta: 0.5 })).steps).toBe(3);
    expect((await run(slow, { patience: 2, minDelta: "0.1%" }, { epochs: 6 })).status).toBe("completed");
    expect((await run(slow, { patience: 2, minDelta: "1%" })).steps).toBe(3);
    // 1 % of a best of −10 is 0.1 as well: not a larger value.
    expect((await run([-10, -10.05, -10.08], { patience: 2, minDelta: "1%" })).steps).toBe(3);
  });

  test("baseline: what does not beat it is no improvement, however much better it gets", async () => {
    const result = await run([9, 8, 7, 6], { patience: 3, baseline: 5 });
    expect(result.reason).toBe("earlyStopping: val/x has not improved on its baseline 5 for 3 checks");
    expect((await run([9, 8, 4, 4, 4], { patience: 3, baseline: 5 }, { epochs: 5 })).status).toBe("completed");
  });
});

describe("thresholds", () => {
  test("stoppingThreshold: good enough, at once", async () => {
    const result = await run([3, 2, 0.5, 0.1], { stoppingThreshold: 0.5 });
    expect(result.steps).toBe(3);
    expect(result.reason).toBe("earlyStopping: val/x is 0.5: the stopping threshold 0.5 is reached");
    expect((await run([0.1, 0.7, 0.9], { mode: "max", stoppingThreshold: 0.8 })).steps).toBe(3);
  });

  test("divergenceThreshold: too bad, at once", async () => {
    const result = await run([3, 10, 10.5, 1], { divergenceThreshold: 10, patience: 9 });
    expect(result.steps).toBe(3);
    expect(result.reason).toBe("earlyStopping: val/x is 10.5, worse than the divergence threshold 10");
  });

  test("checkFinite: NaN and infinity end the run, or are just no improvement", async () => {
    const stopped = await run([1, NaN, 0.5], {});
    expect([stopped.steps, stopped.reason]).toEqual([2, "earlyStopping: val/x is NaN"]);
    expect((await run([1, -Infinity], {})).reason).toBe("earlyStopping: val/x is -Infinity");
    const patient = await run([NaN, 1, NaN, Infinity], { checkFinite: false, patience: 2 });
    expect([patient.steps, patient.reason]).toEqual([4, "earlyStopping: val/x has not improved on 1 for 2 checks"]);
    const never = await run([NaN], { checkFinite: false, patience: 2 });
    expect(never.reason).toBe("earlyStopping: val/x has had no finite value for 2 checks");
  });
});

describe("when it checks", () => {
  test("startFrom: what comes before is not looked at", async () => {
    // Without it, the 1 at the first check would be the best, and the third check the last.
    const values = [1, 9, 8, 7, 6, 6, 6];
    expect((await run(values, { patience: 2 })).steps).toBe(3);
    expect((await run(values, { patience: 2, startFrom: "2 epochs" })).steps).toBe(7);
    expect((await run(values, { patience: 2, startFrom: 2 })).steps).toBe(7);
    expect((await run(values, { patience: 2, startFrom: "10%" })).steps).toBe(7);
  });

  test("checkOn epoch: the default for train/… metrics; an epoch cut short is no check", async () => {
    const trainer = tinyTrainer({
      samples: 4,
      epochs: 9,
      hooks: [earlyStopping({ monitor: "train/loss", minDelta: 1e9 })],
    });
    const result = await trainer.fit();
    expect(result.reason).toMatch(/^earlyStopping: train\/loss has not improved on .* for 3 checks$/);
    expect(result.steps).toBe(4);
    const hook = earlyStopping({ monitor: "a", checkOn: "epoch", patience: 1 });
    for (const partial of [false, true, true]) {
      const { ctx, calls } = testContext("epochEnd", { metrics: { a: 1 }, partial });
      await hook.onEpochEnd!(ctx);
      expect(calls).toEqual([]);
    }
  });

  test("several evaluation loaders: one check, after the last, when all metrics are of this evaluation", async () => {
    const trainer = tinyTrainer({
      samples: 4,
      epochs: 9,
      eval: { val: loader(), far: loader(8) },
      hooks: [earlyStopping({ monitor: ["far/loss", "val/loss"], minDelta: 1e9, patience: 2 })],
    });
    const result = await trainer.fit();
    expect(result.steps).toBe(3);
    expect(result.reason).toMatch(/^earlyStopping: far\/loss .* 2 checks and val\/loss .* 2 checks$/);
  });

  test("evaluate() on its own and evaluations that were cut off are none of its business", async () => {
    const hook = earlyStopping({ monitor: "val/x", mode: "min", patience: 1 });
    const stops: number[] = [];
    for (const fields of [{}, { phase: "standalone" }, { partial: true }, {}] as const) {
      const { ctx, calls } = testContext("evalEnd", {
        phase: "eval",
        loaderName: "val",
        config: { eval: loader() },
        metrics: { "val/x": 1 },
        ...fields,
      });
      await hook.onEvalEnd!(ctx);
      stops.push(calls.length);
    }
    // Only the last is a second check.
    expect(stops).toEqual([0, 0, 0, 1]);
  });

  test("strict: a metric that is not there is an error that lists what is", async () => {
    // Declared, so that the run begins, but never logged.
    const silent: Hook = { name: "silent", logs: ["val/lost"] };
    const trainer = tinyTrainer({ eval: loader(), hooks: [silent, earlyStopping({ monitor: "val/lost" })] });
    await expect(trainer.fit()).rejects.toThrow(
      /no metric `val\/lost`. Did you mean `val\/loss`\? Metrics so far: train\/loss, val\/loss/,
    );
    const lenient = tinyTrainer({ eval: loader(), hooks: [earlyStopping({ monitor: "val/lost", strict: false })] });
    expect((await lenient.fit()).status).toBe("completed");
  });

  test("not strict: a metric that never comes is one warning, and one that comes late is none", async () => {
    const warned = async (monitor: string | string[]): Promise<string[]> => {
      const warnings: string[] = [];
      const late: Hook = { name: "late", onEpochEnd: (ctx) => (ctx.epoch === 2 ? ctx.log({ late: 1 }) : undefined) };
      const hooks = [late, earlyStopping({ monitor, strict: false, patience: 100 })];
      const warn = (message: string): void => void warnings.push(message);
      await tinyTrainer({ epochs: 5, eval: loader(), warn, hooks }).fit();
      return warnings;
    };
    expect(await warned("val/lost")).toEqual([
      expect.stringMatching(
        /^earlyStopping: there is no metric `val\/lost`. Did you mean `val\/loss`\? .*never checked/,
      ),
    ]);
    expect(await warned(["val/loss", "late"])).toEqual([]);
  });

  test("strict: a run that never evaluates is an error before it starts", async () => {
    const trainer = tinyTrainer({ hooks: [earlyStopping()] });
    await expect(trainer.fit()).rejects.toThrow(/after evaluations, but there are none: give the trainer `eval`/);
    expect((await tinyTrainer({ hooks: [earlyStopping({ strict: false })] }).fit()).status).toBe("completed");
  });

  test("other names of a metric", async () => {
    const options = { samples: 4, epochs: 9, eval: loader() };
    for (const monitor of ["eval_loss", "eval/loss", "val_loss"]) {
      const hooks = [earlyStopping({ monitor, minDelta: 1e9, patience: 1 })];
      expect((await tinyTrainer({ ...options, hooks }).fit()).reason).toContain(`${monitor} has not improved`);
    }
  });

  test("verbose says how things stand", async () => {
    const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
    await run([2, 3], { patience: 1, verbose: true, name: "watch" });
    expect(log.mock.calls.flat()).toEqual([
      "watch: val/x 2 at step 1, the best so far",
      "watch: val/x 3 at step 2, best 2",
    ]);
  });
});

describe("restoreBest", () => {
  /** What the parameters were at each step. */
  function recorder(): { hook: Hook; at: Map<number, number[]> } {
    const at = new Map<number, number[]>();
    const onStepEnd: Hook["onStepEnd"] = async (ctx) =>
      void at.set(ctx.step, [...((await ctx.params.get("weight")).data as Float32Array)]);
    return { hook: { name: "recorder", onStepEnd }, at };
  }
  const weight = async (trainer: Trainer): Promise<number[]> => [
    ...((await trainer.stateDict())["weight"]!.data as Float32Array),
  ];

  test("the best check's parameters are back at the end, and the result says so", async () => {
    const { hook, at } = recorder();
    const trainer = scripted([3, 1, 2, 2], { patience: 2, restoreBest: true }, { hooks: [hook] });
    const result = await trainer.fit();
    expect(result.steps).toBe(4);
    expect(await weight(trainer)).toEqual(at.get(2));
    expect(at.get(4)).not.toEqual(at.get(2));
    const why = "the best val/x, 1, was at step 2";
    expect(result.interventions).toContainEqual(expect.objectContaining({ what: "setParams", event: "trainEnd", why }));
  });

  test("Keras #12511, tensorflow #35634: the best weights come back whoever ends the run", async () => {
    const values = [3, 1, 2, 2, 2, 2];
    const other: Hook = { name: "other", onStepEnd: (ctx) => (ctx.step === 4 ? ctx.stop("enough") : undefined) };
    const abort = new AbortController();
    const abortAt4: Hook = { name: "abort", onStepEnd: (ctx) => (ctx.step === 4 ? abort.abort() : undefined) };
    for (const [status, more] of [
      ["completed", { epochs: 4 }],
      ["stopped", { hooks: [other] }],
      ["interrupted", { hooks: [abortAt4] }],
    ] as const) {
      const { hook, at } = recorder();
      const trainer = scripted(
        values,
        { patience: 9, restoreBest: true },
        { ...more, hooks: [...("hooks" in more ? more.hooks : []), hook] },
      );
      const result = await trainer.fit({ signal: abort.signal });
      expect(result.status).toBe(status);
      expect(await weight(trainer), status).toEqual(at.get(2));
    }
  });

  test("never after a failure", async () => {
    const { hook, at } = recorder();
    const broken: Hook = {
      name: "broken",
      onEpochEnd(ctx) {
        if (ctx.step === 4) throw new Error("broken");
      },
    };
    const trainer = scripted([3, 1, 2, 2], { patience: 9, restoreBest: true }, { hooks: [hook, broken] });
    await expect(trainer.fit()).rejects.toThrow("broken");
    expect(await weight(trainer)).toEqual(at.get(4));
  });

  test("HF #35101: needs no checkpoints; tfjs #8488, #296, #1087: restoreBest is there, and off unless asked for", async () => {
    const { hook, at } = recorder();
    const trainer = scripted([3, 1, 2, 2], { patience: 2 }, { hooks: [hook] });
    const result = await trainer.fit();
    expect(result.status).toBe("stopped");
    expect(await weight(trainer)).toEqual(at.get(4));
    expect(result.interventions.map(({ what }) => what)).not.toContain("setParams");
  });

  test("a second fit goes on from the best, and puts back what is best over both", async () => {
    const { hook, at } = recorder();
    const trainer = scripted([3, 1, 2, 0.5, 2], { patience: 9, restoreBest: true }, { epochs: 3, hooks: [hook] });
    await trainer.fit();
    expect(await weight(trainer)).toEqual(at.get(2));
    await trainer.fit({ epochs: 5 });
    expect(await weight(trainer)).toEqual(at.get(4));
  });
});

describe("what users of other systems complain about", () => {
  test("Lightning #19966: a stop that minEpochs refused is forgotten when the metric recovers", async () => {
    const recovered = await run([2, 3, 3, 3, 1, 0.9, 0.8, 0.7], { patience: 2 }, { epochs: 8, minEpochs: 5 });
    expect(recovered).toMatchObject({ status: "completed", steps: 8 });
    expect(recovered.interventions.filter(({ what }) => what === "stop").map(({ refused }) => refused)).toEqual([
      "before minEpochs (5)",
      "before minEpochs (5)",
    ]);
    const flat = await run([2, 3, 3, 3, 3, 3, 3], { patience: 2 }, { minEpochs: 5 });
    expect([flat.steps, flat.reason]).toEqual([5, "earlyStopping: val/x has not improved on 2 for 4 checks"]);
  });

  test("Lightning #6194, Keras #12052: of two stoppers the one that says stop is heard, and named", async () => {
    const hooks = (order: 1 | -1): Hook[] => {
      const both = [
        earlyStopping({ name: "strict", monitor: "val/x", mode: "min", patience: 1 }),
        earlyStopping({ name: "patient", monitor: "val/x", mode: "min", patience: 5 }),
      ];
      return [script("val/x", [1, 2]), ...(order === 1 ? both : both.toReversed())];
    };
    for (const order of [1, -1] as const) {
      const trainer = tinyTrainer({ samples: 4, eval: loader(), epochs: 9, hooks: hooks(order) });
      const result = await trainer.fit();
      expect(result).toMatchObject({ status: "stopped", steps: 2, requestedBy: "strict" });
      expect(result.reason).toBe("strict: val/x has not improved on 1 for 1 check");
    }
  });

  test("Lightning #7033: stops in the middle of training, on steps, without any evaluation", async () => {
    const steps = (options: EarlyStoppingOptions, hooks: Hook[] = []) =>
      tinyTrainer({ samples: 16, epochs: 5, hooks: [...hooks, earlyStopping({ checkOn: "step", ...options })] }).fit();
    const own = await steps({ monitor: "loss", minDelta: 1e9, patience: 2 });
    expect([own.steps, own.reason]).toEqual([3, expect.stringMatching(/^earlyStopping: loss has not improved/)]);
    expect((await steps({ monitor: "train/loss", minDelta: 1e9, patience: "6 steps" })).steps).toBe(7);
    const logged = [script("drift", [1, 2, 3, 4, 5, 6], "onStepEnd")];
    expect((await steps({ monitor: "drift", patience: 2, every: 2 }, logged)).steps).toBe(6);
  });

  test("Keras #17305, tf-keras #341: patience 0 is an error, and patience 1 goes on while there is improvement", async () => {
    expect(() => earlyStopping({ patience: 0 })).toThrow(
      'earlyStopping: Expected `patience` to be a whole number ≥ 1 of checks, or a quantity such as "3 epochs" or "500 steps", got `0` (number)',
    );
    expect((await run([5, 4, 3, 2, 1], { patience: 1 }, { epochs: 5 })).status).toBe("completed");
  });

  test("fastai #2413, marian #850, Ax #911: several metrics, stop on any, on all, or as a function says", async () => {
    const a = [1, 2, 2, 2, 2, 2, 2];
    const b = [9, 8, 7, 6, 6, 6, 6];
    const both = (options: EarlyStoppingOptions, epochs = 7) => {
      const watcher = earlyStopping({ monitor: ["val/a", "val/b"], patience: 2, ...options });
      const hooks = [script("val/a", a), script("val/b", b), watcher];
      return tinyTrainer({ samples: 4, eval: loader(), epochs, hooks }).fit();
    };
    const any = await both({});
    expect([any.steps, any.reason]).toEqual([3, "earlyStopping: val/a has not improved on 1 for 2 checks"]);
    const all = await both({ combine: "all" });
    expect([all.steps, all.reason]).toEqual([
      6,
      "earlyStopping: val/a has not improved on 1 for 5 checks and val/b has not improved on 6 for 2 checks",
    ]);
    const own = await both({ combine: (would, metrics) => would["val/a"]! && metrics["val/b"]! < 8 });
    expect(own.steps).toBe(3);
    // A failure of one cannot be outvoted by the other.
    const failed = await both({ combine: "all", divergenceThreshold: { "val/a": 1.5 } });
    expect([failed.steps, failed.reason]).toEqual([2, expect.stringContaining("val/a is 2, worse than")]);
    expect((await both({ mode: { "val/a": "max" }, combine: "all" }, 4)).status).toBe("completed");
  });

  test("tfjs #7473: a misspelled option is an error with the nearest name, never ignored", () => {
    expect(() => earlyStopping({ pateince: 3 } as EarlyStoppingOptions)).toThrow(
      /earlyStopping: unknown option `pateince`. Did you mean `patience`\?/,
    );
    expect(() => earlyStopping({ monitor: ["val/a"], baseline: { "val/b": 1 } })).toThrow(
      /`baseline` names `val\/b`, which is not monitored. .*Monitored: val\/a/,
    );
    for (const wrong of [
      { patience: "3 parsecs" },
      { patience: 1.5 },
      { every: 0 },
      { minDelta: "1 percent" },
      { minDelta: -1 },
      { monitor: [] },
      { mode: "least" },
    ])
      expect(() => earlyStopping(wrong as EarlyStoppingOptions), JSON.stringify(wrong)).toThrow(/Expected `/);
    expect(() => earlyStopping({ startFrom: "3 parsecs" })).toThrow(/earlyStopping: startFrom.*unknown unit "parsecs"/);
  });

  /** Two runs of two epochs, the second with a new hook that was given the state of the first. */
  async function resumed(options: EarlyStoppingOptions, after: EarlyStoppingOptions = options): Promise<RunResult> {
    const values = [1, 2, 2, 2, 2, 2];
    const trainer = scripted(values, options, { epochs: 2 });
    await trainer.fit();
    const state = await savedState(trainer.hooks.get("earlyStopping")!);
    const hook = earlyStopping({ monitor: "val/x", mode: "min", ...after });
    await hook.load!(JSON.parse(JSON.stringify(state)) as HookState, 1);
    trainer.hooks.add(hook, { replace: true });
    return trainer.fit({ epochs: 9 });
  }

  test("Lightning #1463, #3488, #18727, HF #28544, rf-detr #1318: best and waiting survive a resume", async () => {
    const result = await resumed({ patience: 3 });
    expect([result.steps, result.reason]).toEqual([4, "earlyStopping: val/x has not improved on 1 for 3 checks"]);
  });

  test("cookiecutter-pyml #58: a changed patience holds after a resume", async () => {
    expect((await resumed({ patience: 3 }, { patience: 5 })).steps).toBe(6);
  });

  test("Lightning #1464, HF #32115: the state is that of the check just made", async () => {
    const seen: unknown[] = [];
    const stopper = earlyStopping({ monitor: "val/x", mode: "min" });
    const saver: Hook = {
      name: "saver",
      stage: "checkpoint",
      onEvalEnd: async () => void seen.push(((await savedState(stopper)).json as { trackers: unknown }).trackers),
    };
    const hooks = [saver, stopper, script("val/x", [2, 1, 3])];
    await tinyTrainer({ samples: 4, eval: loader(), epochs: 3, hooks }).fit();
    expect(seen).toMatchObject([
      { "val/x": { best: 2, checks: 0 } },
      { "val/x": { best: 1, checks: 0 } },
      { "val/x": { best: 1, bestStep: 2, checks: 1 } },
    ]);
  });

  test("HF #33875: two of a kind keep apart", async () => {
    const a = earlyStopping({ name: "a", monitor: "val/x", mode: "min" });
    const b = earlyStopping({ name: "b", monitor: "val/x", mode: "max" });
    await tinyTrainer({ samples: 4, eval: loader(), epochs: 2, hooks: [script("val/x", [1, 2]), a, b] }).fit();
    expect(await savedState(a)).toMatchObject({ json: { trackers: { "val/x": { best: 1 } } } });
    expect(await savedState(b)).toMatchObject({ json: { trackers: { "val/x": { best: 2 } } } });
  });

  test("unsloth-zoo #873: a run that starts over owes nothing to the one before", async () => {
    const trainer = scripted([1, 2, 9, 8, 7, 6], { patience: 2, restoreBest: true }, { epochs: 2 });
    await trainer.fit();
    expect((await trainer.fit({ restart: true, epochs: 4 })).status).toBe("completed");
  });
});

test("a state's tensors are those on the engine, not copies; none once the engine is gone", async () => {
  const trainer = scripted([3, 1, 2], { patience: 9, restoreBest: "memory" }, { epochs: 3 });
  await trainer.fit();
  const hook = trainer.hooks.get("earlyStopping")!;
  const { tensors } = await hook.state!();
  expect(tensors).toMatchObject({ freed: false, names: ["weight", "bias"] });
  await trainer.close();
  expect(tensors).toMatchObject({ freed: true });
  expect((await hook.state!()).tensors).toBeUndefined();
});

test("the best parameters are part of the state", async () => {
  const trainer = scripted([3, 1, 2], { patience: 9, restoreBest: true }, { epochs: 2 });
  await trainer.fit();
  const best = await trainer.stateDict();
  const state = await savedState(trainer.hooks.get("earlyStopping")!);
  expect(state.tensors).toEqual({ weight: best.weight, bias: best.bias });
  const hook = earlyStopping({ monitor: "val/x", mode: "min", patience: 9, restoreBest: true });
  await hook.load!(state, 1);
  expect(await savedState(hook)).toEqual(state);
  trainer.hooks.add(hook, { replace: true });
  await trainer.fit({ epochs: 4 });
  expect((await trainer.stateDict()).weight).toEqual(best.weight);
});
