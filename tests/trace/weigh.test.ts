// Masked labels: what counts is the number of labels, however they are cut into micro-batches, steps of an evaluation or ranks.
import type { Hook, HostBatch, Loss, Trainer } from "hookline";
import { memoryStore } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { accuracy, crossEntropy, linear, perplexity } from "hookline/nn";
import { adamw, sgd } from "hookline/optim";
import { tinyTrainer, type TinyOptions } from "hookline/testing";
import { describe, expect, it } from "vitest";
import { onAll } from "../support/local-ranks.ts";

const TIME = 40;
const CLASSES = 4;

/** One row of inputs for each number, of which so many labels count. */
function rows(...counted: readonly number[]) {
  const x = Float32Array.from({ length: counted.length * TIME * 3 }, (_, i) => Math.sin(i * i + i));
  const labels = counted.flatMap((n, row) =>
    Array.from({ length: TIME }, (_, t) => (t < n ? (row * 7 + t * t) % CLASSES : -100)),
  );
  return {
    x: { data: x, shape: [counted.length, TIME, 3] },
    y: { data: Int32Array.from(labels), shape: [counted.length, TIME] },
  };
}

const UNEVEN = [5, 39, 20, 1];
const metrics = { accuracy: accuracy(), perplexity: perplexity() };

const classifier = (batchSize: number, options: TinyOptions = {}): Trainer =>
  tinyTrainer({
    model: linear(3, CLASSES),
    loss: crossEntropy(),
    metrics,
    optimizer: sgd({ lr: 1 }),
    train: new DataLoader(rows(...UNEVEN), { batchSize }),
    eval: new DataLoader(rows(...UNEVEN), { batchSize }),
    evalAtStart: true,
    ...options,
  });

const weights = async (trainer: Trainer): Promise<number[]> =>
  Object.values(await trainer.stateDict()).flatMap(({ data }) => [...data]);

/** What one step and an evaluation before it come to: rounding may differ, nothing else. */
async function outcome(trainer: Trainer): Promise<Record<string, number>> {
  const seen: Record<string, number> = {};
  trainer.on("stepEnd", (ctx) => void (seen["loss"] = ctx.loss));
  trainer.on("evalEnd", (ctx) => void (seen["val/loss"] ??= ctx.metrics["val/loss"]!));
  const result = await trainer.fit();
  (await weights(trainer)).forEach((weight, i) => (seen[`weight ${i}`] = weight));
  await trainer.close();
  return { ...result.metrics, ...seen };
}

/** Where two outcomes differ by more than rounding. */
function differences(found: Record<string, number>, expected: Record<string, number>): string[] {
  const isFar = (name: string): boolean => {
    const distance = Math.abs(found[name]! - expected[name]!);
    return !(distance < 2e-6 * Math.max(1, Math.abs(expected[name]!)));
  };
  return [...new Set([...Object.keys(found), ...Object.keys(expected)])]
    .filter(isFar)
    .map((name) => `${name}: ${found[name]}, expected ${expected[name]}`);
}

describe("a step of four rows with 5, 39, 20 and 1 labels that count", () => {
  it.each([1, 2, 3])("is the same from micro-batches of %i", async (batchSize) => {
    const accumulate = Math.ceil(UNEVEN.length / batchSize);
    expect(differences(await outcome(classifier(batchSize, { accumulate })), await outcome(classifier(4)))).toEqual([]);
  });

  it.each([2, 3, 4])("is the same on %i ranks", async (size) => {
    const whole = await outcome(classifier(4));
    for (const spread of await onAll(size, (strategy) => outcome(classifier(4, { strategy })))) {
      expect(differences(spread, whole)).toEqual([]);
    }
  });

  it("is the same on two ranks from micro-batches", async () => {
    const whole = await outcome(classifier(4));
    for (const spread of await onAll(2, (strategy) => outcome(classifier(2, { strategy, accumulate: 2 })))) {
      expect(differences(spread, whole)).toEqual([]);
    }
  });
});

describe("averages over batches", () => {
  /** So slow that the model stays as it is. */
  const still = { optimizer: sgd({ lr: 1e-12 }) };

  it("are those over labels: train/loss, val/loss and metrics", async () => {
    const { metrics: whole } = await classifier(4, still).fit();
    const { metrics: apart } = await classifier(1, still).fit();
    expect(Object.keys(whole).sort()).toContain("train/perplexity");
    expect(differences(apart, whole)).toEqual([]);
    expect(apart["val/perplexity"]).toBeCloseTo(Math.exp(apart["val/loss"]!), 5);
  });

  it("are those over labels in evaluate(), on ranks too", async () => {
    const data = (batchSize: number) => new DataLoader(rows(...UNEVEN), { batchSize });
    const whole = await classifier(4).evaluate(data(4));
    expect(differences(await classifier(4).evaluate(data(1)), whole)).toEqual([]);
    for (const found of await onAll(2, (strategy) => classifier(4, { strategy }).evaluate(data(2)))) {
      expect(differences(found, whole)).toEqual([]);
    }
  });

  it("leave the mean over samples to losses without masks", async () => {
    const value = async (batchSize: number): Promise<number> => {
      const x = { data: Float32Array.of(1, 2, 3), shape: [3, 1] };
      const y = { data: Float32Array.of(0, 0, 0), shape: [3, 1] };
      const trainer = tinyTrainer({ model: linear(1, 1) });
      return (await trainer.evaluate(new DataLoader({ x, y }, { batchSize })))["test/loss"]!;
    };
    expect(await value(2)).toBeCloseTo(await value(3), 6);
  });
});

describe("a batch in which no label counts", () => {
  const optimizer = adamw({ lr: 0.1, weightDecay: 0.1 });
  const batchesOf = (...counted: number[]): TinyOptions => ({
    train: new DataLoader(rows(...counted), { batchSize: 1 }),
    eval: new DataLoader(rows(...counted), { batchSize: 1 }),
    optimizer,
  });

  it.each(["fused", "split"])("moves nothing and is shown as skipped (%s)", async (plan) => {
    const seen: (readonly [string, boolean])[] = [];
    const before: number[][] = [];
    const look: Hook = {
      name: "look",
      onBatchEnd: (ctx) => void seen.push(["batch", ctx.skipped]),
      async onStepEnd(ctx) {
        seen.push(["step", ctx.skipped]);
        before.push([...(await ctx.params.get("weight")).data]);
      },
      ...(plan === "split" && { onAfterBackward: () => undefined }),
    };
    const trainer = classifier(1, { ...batchesOf(9, 0, 0, 7), hooks: [look] });
    const { metrics: found, skippedSteps } = await trainer.fit();
    expect(skippedSteps).toBe(2);
    expect(seen.map(([, skipped]) => skipped)).toEqual([false, false, true, true, true, true, false, false]);
    expect(before[1]).toEqual(before[0]);
    expect(before[2]).toEqual(before[0]);
    expect(before[3]).not.toEqual(before[0]);
    for (const value of Object.values(found)) expect(value).not.toBeNaN();
    const skip: Hook = {
      name: "skip",
      onBatchBegin: (ctx) => void ((ctx.batchIdx === 1 || ctx.batchIdx === 2) && ctx.skip("batch")),
    };
    expect((await classifier(1, { ...batchesOf(9, 0, 0, 7), hooks: [skip] }).fit()).metrics).toEqual(found);
  });

  it("adds nothing to the micro-batches around it", async () => {
    const data = rows(0, 9, 0, 7);
    const [train, evaluated] = [new DataLoader(data, { batchSize: 4 }), new DataLoader(data, { batchSize: 4 })];
    const whole = await outcome(classifier(4, { train, eval: evaluated, optimizer }));
    expect(differences(await outcome(classifier(1, { ...batchesOf(0, 9, 0, 7), accumulate: 4 })), whole)).toEqual([]);
  });

  it("moves nothing on ranks, of which one or all have nothing", async () => {
    const options = (): TinyOptions => ({
      optimizer,
      train: new DataLoader(rows(0, 9, 0, 0), { batchSize: 2 }),
      eval: new DataLoader(rows(0, 9, 0, 0), { batchSize: 2 }),
    });
    const one = classifier(2, options());
    const expected = await one.fit();
    const results = await onAll(2, async (strategy) => {
      const trainer = classifier(2, { ...options(), strategy });
      return { result: await trainer.fit(), weights: await weights(trainer) };
    });
    for (const { result, weights: found } of results) {
      expect(result.skippedSteps).toBe(1);
      expect(differences(result.metrics, expected.metrics)).toEqual([]);
      expect(found.every(Number.isFinite)).toBe(true);
    }
    expect(results[0]!.weights).toEqual(results[1]!.weights);
  });

  it("is an error where a whole evaluation has nothing else", async () => {
    const data = new DataLoader(rows(0, 0), { batchSize: 1 });
    await expect(classifier(1).evaluate(data)).rejects.toThrow(/`test` has no batch that weighs anything/);
  });
});

describe("a loss of one's own", () => {
  const counts = ({ y }: HostBatch): number => [...y!.data].filter((label) => label !== -100).length;
  const wrapped: Loss = (outputs, y, batch) => crossEntropy()(outputs, y, batch);

  it("says what a batch weighs with a `weigh` of its own", async () => {
    const loss = Object.assign((...args: Parameters<Loss>) => wrapped(...args), { weigh: counts });
    expect(differences(await outcome(classifier(1, { loss, accumulate: 4 })), await outcome(classifier(4)))).toEqual(
      [],
    );
  });

  it("leaves it to the trainer's `weigh`, which goes before that of the loss", async () => {
    expect(
      differences(
        await outcome(classifier(1, { loss: wrapped, weigh: counts, accumulate: 4 })),
        await outcome(classifier(4)),
      ),
    ).toEqual([]);
    const loss = Object.assign((...args: Parameters<Loss>) => wrapped(...args), { weigh: () => 1 });
    expect(
      differences(await outcome(classifier(1, { loss, weigh: counts, accumulate: 4 })), await outcome(classifier(4))),
    ).toEqual([]);
  });

  it("set by a hook, weighs by what it says itself", async () => {
    const set: Hook = { name: "set", onTrainBegin: (ctx) => ctx.setLoss(crossEntropy()) };
    expect(
      differences(
        await outcome(classifier(1, { loss: wrapped, hooks: [set], evalAtStart: false, accumulate: 4 })),
        await outcome(classifier(4, { evalAtStart: false })),
      ),
    ).toEqual([]);
  });

  it("that wraps crossEntropy() and says nothing is warned about, once, when labels are masked", async () => {
    const warnings = async (options: TinyOptions): Promise<string[]> => {
      const said: string[] = [];
      await classifier(1, { ...options, warn: (message) => void said.push(message) }).fit();
      return said;
    };
    const [only, ...others] = await warnings({ loss: wrapped, epochs: 2 });
    expect(others).toEqual([]);
    expect(only).toBe(
      "The loss leaves out labels that are -100 (batch field `y`), but batches are weighed by their samples, so that micro-batches, ranks and averages count them wrongly. Say how many labels count: give the loss or the trainer a `weigh`, such as crossEntropy().weigh.",
    );
    const full = new DataLoader(rows(40, 40), { batchSize: 1 });
    expect(await warnings({ loss: wrapped, train: full, eval: full })).toEqual([]);
    expect(await warnings({ loss: wrapped, weigh: counts })).toEqual([]);
    expect(await warnings({})).toEqual([]);
  });

  it.each([
    [() => -1, "got `-1`"],
    [() => Number.NaN, "got `NaN`"],
    [() => "5" as never, 'got `"5"`'],
  ])("must weigh with a number of at least 0: %o", async (weigh, got) => {
    await expect(classifier(1, { weigh }).fit()).rejects.toThrow(`\`weigh\` to return a number ≥ 0, ${got}`);
  });

  it("says which batch `weigh` failed on", async () => {
    const weigh = (): number => {
      throw new Error("no field `lengths`");
    };
    await expect(classifier(1, { weigh }).fit()).rejects.toThrow(
      "`weigh` failed on a batch with fields x, y: no field `lengths`",
    );
  });
});

it("keeps the step in one program", () => {
  expect(classifier(1).explainPlan()).toMatch(/^fused/i);
});

it("resumes in mid-epoch to the same bits", async () => {
  const options = (store: ReturnType<typeof memoryStore>, steps: number): TinyOptions => ({
    store,
    steps,
    epochs: 2,
    optimizer: adamw({ lr: 0.1 }),
    hooks: [{ name: "save", onStepEnd: (ctx) => void (ctx.step === 2 && ctx.requestSave()) }],
  });
  const store = memoryStore();
  const whole = classifier(1, options(store, 8));
  const { metrics: expected } = await whole.fit();
  const resumed = classifier(1, options(store, 8));
  const name = (await store.list()).find(({ step }) => step === 2)!.name;
  const { metrics: found } = await resumed.fit({ resume: name });
  expect(found).toEqual(expected);
  expect(await weights(resumed)).toEqual(await weights(whole));
});
