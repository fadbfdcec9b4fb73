// Loss and metrics of single batches: in evaluations and in training, against the same computed by hand from the outputs.
import { Trainer, type Engine, type Hook, type HostArray, type HostBatch, type TrainerOptions } from "hookline";
import { memoryStore } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { accuracy, crossEntropy, linear, relu, sequential } from "hookline/nn";
import { sgd } from "hookline/optim";
import { testEngine } from "hookline/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { asyncEngine, countingEngine } from "../support/engines.ts";
import { localRanks } from "../support/local-ranks.ts";
import { randomData } from "../support/random-data.ts";
import { HAS_NATIVE } from "../support/has-native.ts";

const { floats, labels } = randomData(3);
const data = { x: floats(26, 6), y: labels(26, 3) };
const evalData = { x: floats(11, 6), y: labels(11, 3) };

const run = (options: Partial<TrainerOptions>): Trainer =>
  new Trainer({
    model: sequential(linear(6, 8), relu(), linear(8, 3)),
    loss: crossEntropy(),
    optimizer: sgd({ lr: 0.1, momentum: 0.9 }),
    metrics: { accuracy: accuracy() },
    train: new DataLoader(data, { batchSize: 4, shuffle: true }),
    epochs: 1,
    engine: testEngine(),
    signals: false,
    ...options,
  });

const evaluating = { eval: new DataLoader(evalData, { batchSize: 4 }), evalEvery: "1 epoch" } as const;

type Metrics = Readonly<Record<string, number>>;

interface Rows {
  right: number;
  loss: number;
  count: number;
}

/** Accuracy and cross entropy of a batch, from the model's outputs. */
function byHand(outputs: HostArray, batch: HostBatch): Rows {
  const [count, classes] = outputs.shape as [number, number];
  const rows: Rows = { right: 0, loss: 0, count };
  for (let i = 0; i < count; i++) {
    const scores = outputs.data.subarray(i * classes, (i + 1) * classes);
    const label = batch.y!.data[i]!;
    if (scores.indexOf(Math.max(...scores)) === label) rows.right++;
    rows.loss += Math.log(Array.from(scores, Math.exp).reduce((sum, part) => sum + part)) - scores[label]!;
  }
  return rows;
}

const engines: Record<string, () => "wasm" | "native" | Promise<Engine>> = {
  wasm: () => "wasm",
  native: () => "native",
  "an engine that must be awaited": asyncEngine,
};

describe.each(Object.entries(engines))("on %s", (kind, engine) => {
  beforeEach(({ skip }) => skip(kind === "native" && !HAS_NATIVE, "needs onnxruntime-node"));

  test("an evaluation batch shows its own loss and metrics", async () => {
    const seen: string[] = [];
    const hook: Hook = {
      name: "h",
      needs: ["outputs"],
      onEvalBatchEnd({ loss, batchMetrics, outputs, batch, loaderName }) {
        const rows = byHand(outputs as HostArray, batch);
        expect(loss).toBeCloseTo(rows.loss / rows.count, 5);
        expect(batchMetrics).toEqual({ accuracy: rows.right / rows.count });
        seen.push(`${loaderName} ${rows.count}`);
      },
    };
    await using trainer = run({ ...evaluating, engine: await engine(), hooks: [hook] });
    await trainer.fit();
    await trainer.evaluate(new DataLoader(evalData, { batchSize: 11 }));
    expect(seen).toEqual(["val 4", "val 4", "val 3", "test 11"]);
  });

  test.each([
    ["fused", 1, []],
    ["split", 1, ["onAfterBackward"]],
    ["forwardFirst", 1, ["onAfterForward"]],
    ["split", 3, []],
  ] as const)("a step shows them too: %s, %i micro-batches", async (kind, accumulate, methods) => {
    let step: Rows = { right: 0, loss: 0, count: 0 };
    let steps = 0;
    const hook: Hook = {
      name: "h",
      needs: ["outputs", "batchMetrics"],
      ...Object.fromEntries(methods.map((method) => [method, () => undefined])),
      onBatchEnd({ batchMetrics, outputs, batch }) {
        const rows = byHand(outputs as HostArray, batch);
        expect(batchMetrics).toEqual({ accuracy: rows.right / rows.count });
        step = { right: step.right + rows.right, loss: step.loss + rows.loss, count: step.count + rows.count };
      },
      onStepEnd({ batchMetrics, loss }) {
        expect(batchMetrics).toEqual({ accuracy: step.right / step.count });
        expect(loss).toBeCloseTo(step.loss / step.count, 5);
        step = { right: 0, loss: 0, count: 0 };
        steps++;
      },
    };
    await using trainer = run({ engine: await engine(), accumulate, hooks: [hook] });
    await trainer.fit();
    expect(steps).toBe(accumulate === 1 ? 7 : 3);
    expect(trainer.explainPlan()).toContain(`${kind}:`);
    expect(trainer.explainPlan()).toContain("metrics of the step come back, because hook `h` needs them");
  });
});

test("a skipped batch has none, and a step counts only what it kept", async () => {
  const batches: Metrics[] = [];
  const steps: Metrics[] = [];
  const hook: Hook = {
    name: "h",
    needs: ["batchMetrics"],
    onBatchBegin: (ctx) => void (ctx.batchIdx === 1 && ctx.skip("batch")),
    onAfterBackward: (ctx) => void (ctx.batchIdx === 2 && ctx.skip("batch")),
    onBatchEnd: (ctx) => void batches.push(ctx.batchMetrics),
    onStepEnd: (ctx) => void steps.push(ctx.batchMetrics),
  };
  await using trainer = run({ accumulate: 3, hooks: [hook] });
  await trainer.fit();
  expect(batches.slice(1, 3)).toEqual([{}, {}]);
  expect(steps[0]).toEqual(batches[0]);
});

test("reading them without saying so is an error that says what to say", async () => {
  const hook: Hook = { name: "h", onStepEnd: (ctx) => void ctx.batchMetrics };
  await using trainer = run({ hooks: [hook] });
  await expect(trainer.fit()).rejects.toThrow('needs: ["batchMetrics"]');
});

test("nobody reads anything from the engine for them unless a hook looks", async () => {
  const reads = async (hooks: readonly Hook[]): Promise<number> => {
    const counting = await countingEngine();
    await using trainer = run({ ...evaluating, engine: counting.engine, hooks });
    await trainer.fit();
    return counting.reads();
  };
  const without = await reads([]);
  expect(await reads([{ name: "h", needs: ["batchMetrics"], onEvalBatchEnd: () => undefined }])).toBe(without);
  const look: Hook = { name: "h", needs: ["batchMetrics"], onStepEnd: (ctx) => void ctx.batchMetrics };
  expect(await reads([look])).toBe(without + 7);
});

test.for(["wasm", "native"] as const)(
  "looking changes no bit on %s, and resuming neither",
  async (engine, { skip }) => {
    skip(engine === "native" && !HAS_NATIVE, "needs onnxruntime-node");
    const look = (seen: unknown[]): Hook => ({
      name: "h",
      needs: ["batchMetrics"],
      onStepEnd: (ctx) => void seen.push({ step: ctx.step, ...ctx.batchMetrics }),
      onEvalBatchEnd: (ctx) => void seen.push({ loss: ctx.loss, ...ctx.batchMetrics }),
    });
    const ending = async (trainer: Trainer, resume?: "auto"): Promise<unknown> => {
      const { metrics } = await trainer.fit(resume ? { resume } : {});
      const state = Object.entries(await trainer.stateDict()).map(([name, { data }]) => [name, [...data]]);
      expect(metrics["val/accuracy"]).toBeGreaterThanOrEqual(0);
      return { state, metrics };
    };
    const seen: unknown[] = [];
    const options = { ...evaluating, engine, epochs: 2 };
    await using plain = run(options);
    const unseen = await ending(plain);
    await using watched = run({ ...options, hooks: [look(seen)] });
    expect(await ending(watched)).toEqual(unseen);

    const store = memoryStore();
    const parts: unknown[] = [];
    const stopAt5: Hook = { name: "stop", onStepEnd: (ctx) => void (ctx.step === 5 && ctx.stop("half")) };
    const save: Hook = { name: "save", onStepEnd: (ctx) => void (ctx.step === 5 && ctx.requestSave()) };
    await using first = run({ ...options, store, hooks: [look(parts), stopAt5, save] });
    await first.fit();
    await using second = run({ ...options, store, hooks: [look(parts)] });
    expect(await ending(second, "auto")).toEqual(unseen);
    expect(parts).toEqual(seen);
  },
);

test("in a process group a batch is this rank's part, and a step that of all ranks", async () => {
  const seen = [0, 1].map(() => ({ own: [] as Rows[], steps: [] as Metrics[] }));
  const hook = (rank: number): Hook => ({
    name: "h",
    needs: ["outputs", "batchMetrics"],
    onBatchEnd({ batchMetrics, outputs, batch }) {
      const rows = byHand(outputs as HostArray, batch);
      expect(batchMetrics).toEqual({ accuracy: rows.right / rows.count });
      seen[rank]!.own.push(rows);
    },
    onStepEnd: (ctx) => void seen[rank]!.steps.push(ctx.batchMetrics),
  });
  const even = { x: floats(24, 6), y: labels(24, 3) };
  const trainers = localRanks(2).map((strategy) =>
    run({ strategy, train: new DataLoader(even, { batchSize: 4 }), hooks: [hook(strategy.rank)] }),
  );
  await Promise.all(trainers.map((trainer) => trainer.fit()));
  const whole = seen[0]!.own.map((rows, i) => {
    const other = seen[1]!.own[i]!;
    return { accuracy: (rows.right + other.right) / (rows.count + other.count) };
  });
  expect(whole).toHaveLength(6);
  expect(seen.map(({ steps }) => steps)).toEqual([whole, whole]);
});
