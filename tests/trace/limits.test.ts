// How long a run is and when it evaluates: every limit, every cadence, and what they do to each other.
import type { Hook, HostBatch, TrainerOptions } from "hookline";
import { DataLoader } from "hookline/data";
import { recordTrace, tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import { describe, expect, it } from "vitest";

const val = () => new DataLoader(tinyData(6, 9), { batchSize: 2 });

/** The steps after which an evaluation began. */
async function evaluatedAt(options: TinyOptions): Promise<unknown[]> {
  const trace = recordTrace({ events: ["evalBegin"] });
  const hooks = [...(options.hooks ?? []), trace];
  await tinyTrainer({ eval: val(), ...options, hooks }).fit();
  return trace.entries.map(({ fields }) => fields.step);
}

describe("a run ends", () => {
  // Four steps of four samples to an epoch.
  it.each<[TinyOptions, reason: string, steps: number, epochs: number]>([
    [{ epochs: 1 }, "1 epoch", 4, 1],
    [{ epochs: 3 }, "3 epochs", 12, 3],
    [{ steps: 6 }, "6 steps", 6, 1],
    [{ steps: 8 }, "8 steps", 8, 2],
    [{ maxSamples: 16 }, "16 samples", 4, 1],
    [{ maxSamples: 17 }, "17 samples", 5, 1],
    [{ maxTokens: 40, tokens: ({ x }: HostBatch) => x!.data.length }, "40 tokens", 4, 1],
    [{ epochs: 2, steps: 3 }, "3 steps", 3, 0],
    [{ epochs: 1, steps: 30 }, "1 epoch", 4, 1],
    [{ steps: 6, accumulate: 2 }, "6 steps", 6, 3],
    [{ epochs: 2, accumulate: 3 }, "2 epochs", 4, 2],
  ])("%o: %s", async (options, reason, steps, epochs) => {
    const result = await tinyTrainer(options).fit();
    expect(result).toMatchObject({ status: "completed", reason, requestedBy: "", steps, epochs });
  });

  it("after maxTime, at the end of a step", async () => {
    const elapsed: number[] = [];
    const slow: Hook = {
      name: "slow",
      onStepBegin: (ctx) => void elapsed.push(ctx.elapsed),
      onStepEnd: () => new Promise((resolve) => setTimeout(resolve, 5)),
    };
    const result = await tinyTrainer({ maxTime: "100 ms", hooks: [slow] }).fit();
    expect(result).toMatchObject({ status: "completed", reason: "time limit (100 ms)" });
    expect(result.elapsed).toBeGreaterThanOrEqual(0.1);
    // No step begins when the time is over.
    expect(Math.max(...elapsed)).toBeLessThan(0.1);
    expect(result.steps).toBe(elapsed.length);
  });

  it("maxTime goes on counting in a second fit", async () => {
    const slow: Hook = { name: "slow", onStepEnd: () => new Promise((resolve) => setTimeout(resolve, 5)) };
    const trainer = tinyTrainer({ steps: 10, hooks: [slow] });
    const { elapsed } = await trainer.fit();
    const again = await trainer.fit({ steps: 1000, maxTime: elapsed * 1000 + 30 });
    expect(again.reason).toContain("time limit");
    // 30 ms in steps of 5, and one at each end that the clock cuts through.
    expect(again.steps - 10).toBeLessThanOrEqual(8);
  });

  it("where fit() says, which goes before what the trainer says", async () => {
    const trainer = tinyTrainer({ steps: 5 });
    expect((await trainer.fit({ steps: 2 })).steps).toBe(2);
    expect((await trainer.fit()).steps).toBe(5);
    expect((await trainer.fit({ steps: 9 })).steps).toBe(9);
  });

  it("in the middle of an epoch, which says so and has no evaluation", async () => {
    const trace = recordTrace({ events: ["stepEnd", "evalBegin", "epochEnd"] });
    await tinyTrainer({ steps: 6, eval: val(), hooks: [trace] }).fit();
    const partial = trace.entries.filter(({ event }) => event === "epochEnd").map(({ fields }) => fields.partial);
    expect(partial).toEqual([false, true]);
    expect(trace.names().slice(-3)).toEqual(["stepEnd", "stepEnd", "epochEnd"]);
  });

  it("tells hooks its length where it is known", async () => {
    const total = async (options: TinyOptions): Promise<unknown> => {
      const trace = recordTrace({ events: ["trainBegin"] });
      await tinyTrainer({ ...options, hooks: [trace] }).fit();
      return trace.entries[0]!.fields.totalSteps;
    };
    expect(await total({ epochs: 3 })).toBe(12);
    expect(await total({ epochs: 3, accumulate: 3 })).toBe(6);
    expect(await total({ epochs: 3, limitBatches: 2 })).toBe(6);
    expect(await total({ epochs: 3, steps: 5 })).toBe(5);
    expect(await total({ maxSamples: 8 })).toBeUndefined();
  });
});

describe("a stop that comes too early", () => {
  const once: Hook = { name: "once", onStepEnd: (ctx) => void (ctx.step === 2 && ctx.stop("enough")) };
  const always: Hook = { name: "always", onStepEnd: (ctx) => ctx.stop("enough") };

  it("is refused, recorded and forgotten", async () => {
    const result = await tinyTrainer({ steps: 7, minSteps: 5, hooks: [once] }).fit();
    expect(result).toMatchObject({ status: "completed", steps: 7 });
    expect(result.interventions).toEqual([
      { who: "once", event: "stepEnd", step: 2, epoch: 0, what: "stop", why: "enough", refused: "before minSteps (5)" },
    ]);
  });

  it("ends the run as soon as it may, if it is asked for again", async () => {
    const result = await tinyTrainer({ steps: 9, minSteps: 5, hooks: [always] }).fit();
    expect(result).toMatchObject({ status: "stopped", reason: "enough", requestedBy: "always", steps: 5 });
    expect(result.interventions.map(({ refused }) => refused !== undefined)).toEqual([true, true, true, true, false]);
  });

  it("waits for whole epochs with minEpochs", async () => {
    const atEpochEnd: Hook = { name: "atEpochEnd", onEpochEnd: (ctx) => ctx.stop("enough") };
    expect(await tinyTrainer({ epochs: 5, minEpochs: 2, hooks: [atEpochEnd] }).fit()).toMatchObject({
      epochs: 2,
      steps: 8,
    });
    const inSteps = await tinyTrainer({ epochs: 5, minEpochs: 2, hooks: [always] }).fit();
    expect(inSteps.status).toBe("stopped");
    // The last step of the second epoch is not the end of it: the first that may is the one after, or the epoch's own end.
    expect([8, 9]).toContain(inSteps.steps);
  });

  it("does not hold for limits", async () => {
    expect(await tinyTrainer({ steps: 3, minSteps: 5 }).fit()).toMatchObject({ status: "completed", steps: 3 });
  });
});

describe("evaluations", () => {
  it.each<[Partial<TrainerOptions>, number[]]>([
    [{}, [4, 8, 12]],
    [{ evalEvery: 3 }, [3, 6, 9, 12]],
    [{ evalEvery: "5 steps" }, [5, 10]],
    [{ evalEvery: "1 epoch" }, [4, 8, 12]],
    [{ evalEvery: "2 epochs" }, [8]],
    [{ evalEvery: "25%" }, [3, 6, 9, 12]],
    [{ evalEvery: "10%" }, [2, 3, 4, 5, 6, 8, 9, 10, 11, 12]],
    [{ evalEvery: "6 batches" }, [6, 12]],
    [{ evalEvery: "20 samples" }, [5, 10]],
    [{ evalEvery: { every: 2, from: 4, until: 8 } }, [4, 6, 8]],
    [{ evalEvery: { at: [1, 7] } }, [1, 7]],
    [{ evalEvery: 100 }, []],
    [{ evalEvery: 6, evalAtStart: true }, [0, 6, 12]],
    [{ evalEvery: "1 epoch", evalAtStart: true }, [0, 4, 8, 12]],
    [{ evalEvery: "3 steps", accumulate: 2 }, [3, 6]],
    [{ evalEvery: "4 batches", accumulate: 2 }, [2, 4, 6]],
  ])("%o come after steps %o", async (options, steps) => {
    expect(await evaluatedAt({ epochs: 3, ...options })).toEqual(steps);
  });

  it("at the start come before the first step, and not again in a second fit", async () => {
    const trace = recordTrace({ events: ["trainBegin", "evalBegin", "evalEnd", "epochBegin", "stepBegin"] });
    const trainer = tinyTrainer({ steps: 1, eval: val(), evalAtStart: true, hooks: [trace] });
    await trainer.fit();
    expect(trace.names()).toEqual(["trainBegin", "evalBegin", "evalEnd", "epochBegin", "stepBegin"]);
    trace.clear();
    await trainer.fit({ steps: 2 });
    expect(trace.names()).toEqual(["trainBegin", "epochBegin", "stepBegin"]);
  });

  it("that a hook asks for come once, whoever else wants one", async () => {
    const ask = (name: string, ...steps: number[]): Hook => ({
      name,
      onStepEnd: (ctx) => void (steps.includes(ctx.step) && ctx.requestEval("curious")),
    });
    const hooks = [ask("a", 2, 3), ask("b", 3, 5)];
    expect(await evaluatedAt({ steps: 6, evalEvery: 3, hooks })).toEqual([2, 3, 5, 6]);
    // At the last step of an epoch the evaluation of the step is that of the epoch.
    expect(await evaluatedAt({ epochs: 2, hooks: [ask("a", 4)] })).toEqual([4, 8]);
  });

  it("that are asked for without a loader do nothing", async () => {
    const hook: Hook = { name: "ask", onStepEnd: (ctx) => ctx.requestEval() };
    expect(await tinyTrainer({ hooks: [hook] }).fit()).toMatchObject({ status: "completed", steps: 4 });
  });

  it("over several loaders come in order, each under its name", async () => {
    const trace = recordTrace({ events: ["evalBegin", "evalBatchBegin", "evalBatchEnd", "evalEnd", "stepEnd"] });
    const loaders = { near: val(), far: new DataLoader(tinyData(2, 8), { batchSize: 2 }) };
    const result = await tinyTrainer({ eval: loaders, hooks: [trace] }).fit();
    const seen = trace.entries
      .filter(({ event }) => event !== "stepEnd")
      .map(({ event, fields }) => [event, fields.loaderName, fields.loaderIdx].join(" ").trim());
    const once = (name: string, index: number, batches: number): string[] => [
      `evalBegin ${name}`,
      ...Array.from({ length: batches }, () => [
        `evalBatchBegin ${name} ${index}`,
        `evalBatchEnd ${name} ${index}`,
      ]).flat(),
      `evalEnd ${name}`,
    ];
    expect(seen).toEqual([...once("near", 0, 3), ...once("far", 1, 1)]);
    expect(Object.keys(result.metrics).sort()).toEqual(["far/loss", "near/loss", "train/loss"]);
  });

  it("are cut alone by limitBatches: { eval }", async () => {
    const trace = recordTrace({ events: ["batchBegin", "evalBatchBegin", "epochEnd"] });
    const limitBatches = { eval: 1 };
    const result = await tinyTrainer({ epochs: 1, limitBatches, eval: val(), hooks: [trace] }).fit();
    expect(result.steps).toBe(4);
    expect(trace.names()).toEqual([...Array<string>(4).fill("batchBegin"), "evalBatchBegin", "epochEnd"]);
  });

  it("and epochs are cut by limitBatches", async () => {
    const trace = recordTrace({ events: ["batchBegin", "evalBatchBegin", "epochEnd"] });
    const result = await tinyTrainer({ epochs: 2, limitBatches: 2, eval: val(), hooks: [trace] }).fit();
    expect(result).toMatchObject({ status: "completed", steps: 4, epochs: 2 });
    const epoch = ["batchBegin", "batchBegin", "evalBatchBegin", "evalBatchBegin", "epochEnd"];
    expect(trace.names()).toEqual([...epoch, ...epoch]);
    expect(trace.entries.filter(({ fields }) => fields.partial === true)).toEqual([]);
  });
});
