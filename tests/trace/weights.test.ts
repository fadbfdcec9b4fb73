// Weights of samples and classes: a step and an evaluation are the same, however their rows are cut into batches or ranks.
import type { Trainer } from "hookline";
import { DataLoader, Rng, type HostBatch } from "hookline/data";
import * as nn from "hookline/nn";
import { sgd } from "hookline/optim";
import { tinyTrainer, type TinyOptions } from "hookline/testing";
import { describe, expect, it } from "vitest";
import { onAll } from "../support/local-ranks.ts";

const ROWS = 12;
const rng = new Rng(3);
const x = { data: Float32Array.from({ length: ROWS * 3 }, () => rng.normal()), shape: [ROWS, 3] };
const labels = Int32Array.from({ length: ROWS }, (_, i) => (i === 4 ? -100 : [0, 0, 1, 0, 2][i % 5]!));
const yesNo = { data: Float32Array.from({ length: ROWS }, (_, i) => Number(i % 4 === 0)), shape: [ROWS, 1] };
const numbers = { data: Float32Array.from({ length: ROWS }, () => rng.normal()), shape: [ROWS, 1] };
const weight = Float32Array.from({ length: ROWS }, (_, i) => (i === 2 ? 0 : 0.25 + i / 4));

const classWeights = [0.5, 2, 3];
const classified = { accuracy: nn.accuracy(), f1: nn.f1(), logLoss: nn.logLoss(), auc: nn.rocAuc() };

interface Task {
  readonly name: string;
  readonly data: HostBatch;
  readonly options: TinyOptions;
}

const task = (
  name: string,
  y: HostBatch[string],
  loss: TinyOptions["loss"],
  metrics: TinyOptions["metrics"],
): Task => ({
  name,
  data: { x, y, weight: { data: weight, shape: [ROWS] } },
  options: { model: nn.linear(3, y.shape.length === 1 ? 3 : 1), loss: loss!, metrics: metrics! },
});

const y = { data: labels, shape: [ROWS] };
const tasks: Task[] = [
  task("crossEntropy", y, nn.crossEntropy(), classified),
  task("crossEntropy with class weights", y, nn.crossEntropy({ classWeights, labelSmoothing: 0.1 }), classified),
  task("balanced crossEntropy", y, nn.crossEntropy({ classWeights: "balanced" }), classified),
  task("focal", y, nn.focal({ classWeights }), classified),
  task("bceWithLogits", yesNo, nn.bceWithLogits({ posWeight: 3, labelSmoothing: 0.1 }), { f1: nn.f1() }),
  task("balanced bceWithLogits", yesNo, nn.bceWithLogits({ posWeight: "balanced" }), { f1: nn.f1() }),
  task("binaryFocal", yesNo, nn.binaryFocal({ alpha: 0.3 }), { accuracy: nn.binaryAccuracy() }),
  task("mse", numbers, nn.mse(), { mae: nn.mae(), r2: nn.r2() }),
  task("huber", numbers, nn.huber(), { rmse: nn.rmse() }),
];

const trainer = ({ data, options }: Task, batchSize: number, more: TinyOptions = {}): Trainer =>
  tinyTrainer({
    ...options,
    optimizer: sgd({ lr: 1 }),
    train: new DataLoader(data, { batchSize }),
    eval: new DataLoader(data, { batchSize }),
    evalAtStart: true,
    ...more,
  });

/** The parameters after one step, and all metrics. */
async function outcome(of: Trainer): Promise<Record<string, number>> {
  const seen: Record<string, number> = {};
  of.on("evalEnd", ({ evalMetrics }) => {
    for (const [name, value] of Object.entries(evalMetrics)) seen[`first ${name}`] ??= value;
  });
  const { metrics } = await of.fit();
  for (const [name, { data }] of Object.entries(await of.stateDict()))
    data.forEach((value, i) => (seen[`${name} ${i}`] = value));
  await of.close();
  return { ...metrics, ...seen };
}

function differences(found: Record<string, number>, expected: Record<string, number>): string[] {
  return Object.keys(expected)
    .filter((name) => !(Math.abs(found[name]! - expected[name]!) < 5e-6 * Math.max(1, Math.abs(expected[name]!))))
    .map((name) => `${name}: ${found[name]}, expected ${expected[name]}`);
}

it.each(tasks)("$name is the same from micro-batches and on ranks", async (each) => {
  const whole = await outcome(trainer(each, ROWS));
  expect(Object.values(whole).every(Number.isFinite)).toBe(true);
  expect(differences(await outcome(trainer(each, 5, { accumulate: 3 })), whole)).toEqual([]);
  for (const spread of await onAll(3, (strategy) => outcome(trainer(each, ROWS, { strategy })))) {
    expect(differences(spread, whole)).toEqual([]);
  }
});

// Balanced weights are those of the rows that there are.
const fixed = tasks.filter(({ name }) => !name.startsWith("balanced"));

it.each(fixed)("$name counts a row of weight 2 as two rows, and one of weight 0 not at all", async (each) => {
  const times = Float32Array.from({ length: ROWS }, (_, i) => [1, 2, 0][i % 3]!);
  const repeated = [...times].flatMap((count, row) => Array.from({ length: count }, () => row));
  const { weight: _weight, ...fields } = each.data;
  const taken = Object.fromEntries(
    Object.entries(fields).map(([name, { data, shape }]) => {
      const size = data.length / ROWS;
      const rows = repeated.flatMap((row) => [...data.subarray(row * size, (row + 1) * size)]);
      const made = data instanceof Int32Array ? Int32Array.from(rows) : Float32Array.from(rows);
      return [name, { data: made, shape: [repeated.length, ...shape.slice(1)] }];
    }),
  );
  const weighted = { ...each, data: { ...fields, weight: { data: times, shape: [ROWS] } } };
  const several = trainer({ ...each, data: taken }, repeated.length);
  expect(differences(await outcome(trainer(weighted, ROWS)), await outcome(several))).toEqual([]);
});

describe("balanced weights", () => {
  it("are those of scikit-learn, and fitted to the training data", async () => {
    expect(nn.balancedWeights([0, 0, 0, 1, -100, 3])).toEqual([5 / 9, 5 / 3, 1, 5 / 3]);
    const data = { x, y: { data: Int32Array.from(labels, (label) => Math.max(0, label)), shape: [ROWS] } };
    const given = nn.crossEntropy({ classWeights: nn.balancedWeights(data.y.data) });
    const own = nn.crossEntropy({ classWeights: "balanced" });
    const [a, b] = await Promise.all(
      [given, own].map((loss) => outcome(trainer({ name: "", data, options: { model: nn.linear(3, 3), loss } }, 4))),
    );
    expect(b).toEqual(a);
  });

  it("are an error for data that is not in memory, and for a hook's own loss", async () => {
    const stream = new DataLoader(() => [{ x: [1, 2, 3], y: 0 }], { batchSize: 1, dtypes: { y: "int32" } });
    const loss = nn.crossEntropy({ classWeights: "balanced" });
    expect(() => tinyTrainer({ model: nn.linear(3, 3), loss, train: stream })).toThrow(
      '"balanced" weights are computed from all targets `y` of the training data, but loader `train` does not have them in memory',
    );
    const data = { x, y };
    const set = trainer({ name: "", data, options: { model: nn.linear(3, 3), loss: nn.crossEntropy() } }, 4, {
      hooks: [{ name: "set", onTrainBegin: (ctx) => ctx.setLoss(loss) }],
    });
    await expect(set.fit()).rejects.toThrow('"balanced" weights are computed from the training data');
  });
});

describe("mistakes", () => {
  const fit = async (data: HostBatch, loss = nn.mse()): Promise<unknown> =>
    trainer({ name: "", data, options: { model: nn.linear(3, 1), loss } }, 4).fit();

  it("weights that no mean can use", async () => {
    const bad = Float32Array.from(weight);
    bad[1] = -1;
    await expect(fit({ x, y: numbers, weight: { data: bad, shape: [ROWS] } })).rejects.toThrow(
      "the batch's `weight` is -1 at 1; weights are numbers ≥ 0",
    );
    await expect(
      fit({ x, y: numbers, weight: { data: new Float32Array(ROWS * 3), shape: [ROWS, 3] } }),
    ).rejects.toThrow(
      "mse: the batch's `weight` has shape [4, 3], but there must be one weight for each sample of targets [4, 1]: [4]",
    );
  });

  it("more class weights than classes", async () => {
    const loss = nn.crossEntropy({ classWeights: [1, 2, 3, 4] });
    await expect(trainer({ ...tasks[0]!, options: { model: nn.linear(3, 3), loss } }, 4).fit()).rejects.toThrow(
      "there are 4 class weights for 3 classes",
    );
  });
});
