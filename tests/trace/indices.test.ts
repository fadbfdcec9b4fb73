// Labels that are no class and ids outside a table: an error that names them, before anything is computed.
import { DataError, nanGuard, Trainer, type HostBatch, type Loss, type Tensor, type TrainerOptions } from "hookline";
import { DataLoader } from "hookline/data";
import { accuracy, crossEntropy, embedding, flatten, linear, mse, sequential } from "hookline/nn";
import { adamw } from "hookline/optim";
import { testEngine, tinyTrainer, type TinyOptions } from "hookline/testing";
import { describe, expect, it } from "vitest";
import { asyncEngine } from "../support/engines.ts";
import { localRanks } from "../support/local-ranks.ts";

/** Eight rows of three features and a label of four classes; some labels are given. */
function labelled(wrong: Readonly<Record<number, number>> = {}): HostBatch {
  const y = Int32Array.from({ length: 8 }, (_, i) => wrong[i] ?? i % 4);
  return {
    x: { data: Float32Array.from({ length: 24 }, (_, i) => Math.sin(i)), shape: [8, 3] },
    y: { data: y, shape: [8] },
  };
}

const loader = (data: HostBatch, batchSize = 4): DataLoader => new DataLoader(data, { batchSize });

const classifier = (data: HostBatch, options: TinyOptions = {}): Trainer =>
  tinyTrainer({ model: linear(3, 4), loss: crossEntropy(), optimizer: adamw(), train: loader(data), ...options });

const weights = async (trainer: Trainer): Promise<number[]> =>
  Object.values(await trainer.stateDict()).flatMap(({ data }) => [...data]);

const NO_CLASS = "label 7 in row 2 is none of the 4 classes of crossEntropy, which are 0 to 3";

describe("a label that is no class", () => {
  it.each([
    ["the first batch", 2],
    ["a later batch", 6],
  ])("in %s is an error, and no parameter becomes NaN", async (_, row) => {
    const trainer = classifier(labelled({ [row]: 7 }));
    const failure = await trainer.fit().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(DataError);
    expect((failure as Error).message).toBe(
      `Loader \`train\`, batch field \`y\`: ${NO_CLASS}, and not its \`ignoreIndex\` (-100).`,
    );
    expect((await weights(trainer)).every(Number.isFinite)).toBe(true);
  });

  const nothing = (): void => undefined;
  it.each<[string, TinyOptions]>([
    ["split steps", { hooks: [{ name: "split", onAfterBackward: nothing }] }],
    ["forward first", { hooks: [{ name: "first", onAfterForward: nothing }] }],
    ["micro-batches", { accumulate: 2 }],
    ["nanGuard", { hooks: [nanGuard({ action: "skip" })] }],
    ["a loss in a function of one's own", { loss: (outputs, y, batch) => crossEntropy()(outputs, y, batch) }],
  ])("is found with %s", async (_, options) => {
    for (const row of [2, 6]) await expect(classifier(labelled({ [row]: 7 }), options).fit()).rejects.toThrow(NO_CLASS);
  });

  it("is found on engines that must be awaited", async () => {
    const engine = await asyncEngine();
    for (const row of [2, 6])
      await expect(classifier(labelled({ [row]: 7 }), { engine }).fit()).rejects.toThrow(NO_CLASS);
    await engine.close();
  });

  it("is found by the rank that has the row", async () => {
    // A launcher would end the other rank, which waits.
    const fits = localRanks(2).map((strategy) => classifier(labelled({ 1: 7 }), { strategy }).fit());
    await expect(Promise.race(fits)).rejects.toThrow("label 7 in row 1");
  });

  it("is found in evaluations, each with its own name, and by metrics alone", async () => {
    const wrong = loader(labelled({ 6: 7 }));
    await expect(classifier(labelled(), { eval: wrong }).fit()).rejects.toThrow(
      `Loader \`val\`, batch field \`y\`: ${NO_CLASS}`,
    );
    await expect(classifier(labelled()).evaluate(wrong)).rejects.toThrow(
      `Loader \`test\`, batch field \`y\`: ${NO_CLASS}`,
    );
    const loss: Loss = (outputs, y) => (y.dispose(), (outputs as Tensor).mean());
    await expect(classifier(labelled(), { loss, metrics: { accuracy: accuracy() } }).evaluate(wrong)).rejects.toThrow(
      "label 7 in row 2 is none of the 4 classes of accuracy",
    );
  });

  it("may be negative, unsigned, and one of many", async () => {
    await expect(classifier(labelled({ 0: -1, 2: 4, 3: 9 })).fit()).rejects.toThrow(
      "label -1 in row 0 (and 2 more) is none of the 4 classes",
    );
    const data = labelled();
    const y = { data: Uint32Array.of(0, 1, 2, 3, 0, 1, 2, 2 ** 32 - 1), shape: [8] };
    await expect(classifier({ ...data, y }).fit()).rejects.toThrow("label 4294967295 in row 3");
  });

  it("has a row and a position where labels have several dimensions", async () => {
    const x = { data: new Float32Array(2 * 5 * 3), shape: [2, 5, 3] };
    const y = { data: Int32Array.of(0, 1, 2, 3, 0, 1, 2, 3, -100, 4), shape: [2, 5] };
    await expect(classifier({ x, y }).fit()).rejects.toThrow("label 4 in row 1, position 4 is none of the 4 classes");
  });

  it("may be `ignoreIndex`", async () => {
    expect((await classifier(labelled({ 2: -100 })).fit()).status).toBe("completed");
    const loss = crossEntropy({ ignoreIndex: 7 });
    expect((await classifier(labelled({ 2: 7 }), { loss }).fit()).status).toBe("completed");
  });

  it("is a number like any other to a loss that a hook has set, and that knows no classes", async () => {
    const trainer = classifier(labelled({ 6: 7 }), {
      hooks: [
        {
          name: "set",
          onStepEnd: (ctx) => ctx.setLoss((outputs, y) => (y.dispose(), (outputs as Tensor).mean())),
        },
      ],
    });
    expect((await trainer.fit()).status).toBe("completed");
  });
});

describe("an id outside a table", () => {
  const ids = (...data: number[]): HostBatch => ({
    x: { data: Int32Array.from(data), shape: [data.length / 2, 2] },
    y: { data: new Float32Array(data.length / 2), shape: [data.length / 2, 1] },
  });
  const model = sequential({ words: embedding(10, 3), flat: flatten(), out: linear(6, 1) });
  const reader = (data: HostBatch, options: Partial<TrainerOptions> = {}): Trainer =>
    tinyTrainer({ model, loss: mse(), train: loader(data, 2), ...options });
  const OUTSIDE =
    "id 10 in row 1, position 0 is outside the table of embedding(10, 3) (layer `words`), whose ids are 0 to 9";

  it("is an error in training, whichever batch", async () => {
    const message = `Loader \`train\`, batch field \`x\`: ${OUTSIDE}.`;
    await expect(reader(ids(0, 9, 10, 1)).fit()).rejects.toThrow(message);
    await expect(reader(ids(0, 9, 1, 1, 3, 3, 10, 1)).fit()).rejects.toThrow(message);
  });

  it("is an error in evaluate(), predict() and runWithProbes()", async () => {
    const good = ids(0, 9, 1, 1);
    const bad = ids(0, 9, 1, 1, 3, 3, 10, 1);
    await expect(reader(good).evaluate(loader(bad, 2))).rejects.toThrow(OUTSIDE);
    const trainer = reader(good);
    await trainer.predict(loader(good, 2));
    await expect(trainer.predict(loader(bad, 2))).rejects.toThrow(`Loader \`predict\`, batch field \`x\`: ${OUTSIDE}`);
    await expect(trainer.runWithProbes(ids(0, 9, 10, 1))).rejects.toThrow(OUTSIDE);
    // The trainer is as it was.
    expect((await trainer.fit()).status).toBe("completed");
  });

  it("that the model computes first is named by nanGuard", async () => {
    const trainer = reader(ids(0, 9, 9, 1), {
      inputs: (batch) => batch["x"]!.add(1),
      hooks: [nanGuard()],
    });
    const { reason } = await trainer.fit();
    expect(reason).toContain(
      "the loss is NaN: id 10 in row 0, position 1 (and 1 more) is outside the table of embedding(10, 3) (layer `words`), whose ids are 0 to 9",
    );
  });
});

it("costs no program: that of a step is the same whatever is checked", async () => {
  const trainer = classifier(labelled(), { engine: testEngine() });
  expect(trainer.explainPlan()).toMatch(/^fused/i);
  expect((await trainer.fit()).status).toBe("completed");
});
