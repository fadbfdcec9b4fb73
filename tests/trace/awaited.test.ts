// Engines that must be awaited, as WebGPU's must: events show the same numbers, and looking in from outside is safe at any time.
import { Trainer, type Hook, type HostTensors, type TrainerOptions } from "hookline";
import { testEngine, tinyData, tinyTrainer } from "hookline/testing";
import { describe, expect, it } from "vitest";
import { asyncEngine } from "../support/engines.ts";

describe("ctx.avgLoss", () => {
  const averages = (seen: (readonly [string, number])[], listens: boolean): Hook => ({
    name: "averages",
    ...(listens && { onStepEnd: (ctx) => void seen.push([`step ${ctx.step}`, ctx.avgLoss]) }),
    onEpochEnd: (ctx) => void seen.push([`epoch ${ctx.epoch}`, ctx.avgLoss]),
  });
  const nothing = (): void => undefined;
  const plans: Record<string, { hook?: Hook; options?: Partial<TrainerOptions> }> = {
    fused: {},
    split: { hook: { name: "split", onAfterBackward: nothing } },
    "forward first": { hook: { name: "first", onAfterForward: nothing } },
    accumulated: { options: { accumulate: 2 } },
    clipped: { hook: { name: "split", onAfterBackward: nothing }, options: { clipNorm: 0.1 } },
    "with skipped steps": { hook: { name: "skip", onStepBegin: (ctx) => void (ctx.step % 4 < 2 && ctx.skip("step")) } },
  };

  it.each(Object.keys(plans).flatMap((plan) => [true, false].map((listens) => [plan, listens] as const)))(
    "is what a synchronous engine shows: %s, with a listener at each step: %s",
    async (plan, listens) => {
      const run = async (engine: TrainerOptions["engine"]): Promise<(readonly [string, number])[]> => {
        const seen: (readonly [string, number])[] = [];
        const { hook, options } = plans[plan]!;
        const hooks = [averages(seen, listens), ...(hook ? [hook] : [])];
        await using trainer = tinyTrainer({ engine: engine!, epochs: 2, logEvery: 1000, ...options, hooks });
        const { metrics } = await trainer.fit();
        expect(seen.at(-1)![1]).toBe(metrics["train/loss"]);
        return seen;
      };
      const engine = await asyncEngine();
      const awaited = await run(engine);
      await engine.close();
      expect(awaited.at(-1)![1]).toBeGreaterThan(0);
      expect(awaited).toEqual(await run(testEngine()));
    },
  );
});

describe("during a step that has taken the parameters", () => {
  const batch = tinyData(4, 9);

  /** Calls `look` while programs of the steps are under way, without making the run wait. */
  async function lookAllTheTime<T>(look: (trainer: Trainer) => Promise<T>, plan?: Hook): Promise<T[]> {
    const engine = await asyncEngine();
    const looks: Promise<T>[] = [];
    await using trainer = tinyTrainer({ engine, epochs: 2, ...(plan && { hooks: [plan] }) });
    const again = (): void => {
      looks.push(look(trainer));
    };
    for (const event of ["beforeForward", "stepEnd"] as const) trainer.on(event, again);
    trainer.on("beforeForward", () => void setImmediate(again));
    await trainer.fit();
    const seen = await Promise.all(looks);
    expect(seen.length).toBeGreaterThan(20);
    return seen;
  }

  /** Parameters after each step of the same run, and before the first. */
  async function states(): Promise<HostTensors[]> {
    await using trainer = tinyTrainer({ epochs: 2 });
    const all = [await trainer.stateDict()];
    trainer.on("stepEnd", async () => void all.push(await trainer.stateDict()));
    await trainer.fit();
    return all;
  }

  const split: Hook = { name: "split", onAfterBackward: () => undefined };

  it.each([
    ["fused", undefined],
    ["split", split],
  ])("stateDict() is that of a whole step (%s)", async (_, plan) => {
    const whole = await states();
    for (const seen of await lookAllTheTime((trainer) => trainer.stateDict(), plan)) expect(whole).toContainEqual(seen);
  });

  it.each([
    ["fused", undefined],
    ["split", split],
  ])("runWithProbes() runs on those of a whole step (%s)", async (_, plan) => {
    const outputs: unknown[] = [];
    for (const state of await states()) {
      await using trainer = tinyTrainer();
      await trainer.loadStateDict(state);
      outputs.push((await trainer.runWithProbes(batch)).outputs);
    }
    const seen = await lookAllTheTime((trainer) => trainer.runWithProbes(batch), plan);
    for (const found of seen) expect(outputs).toContainEqual(found.outputs);
  });
});
