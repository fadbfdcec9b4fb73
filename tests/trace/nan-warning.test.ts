// A training loss that is not finite does not pass in silence: one warning for each fit, unless someone deals with it.
import { nanGuard, type Hook } from "hookline";
import { DataLoader } from "hookline/data";
import { sgd } from "hookline/optim";
import { tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import { expect, test } from "vitest";
import { localRanks } from "../support/local-ranks.ts";

/** Data of 4 batches, with this number in the first one. */
function spoiled(value: number): DataLoader {
  const { x, y } = tinyData(16);
  x.data[1] = value;
  return new DataLoader({ x, y }, { batchSize: 4 });
}

function watched(options: TinyOptions) {
  const warnings: string[] = [];
  const trainer = tinyTrainer({ epochs: 3, ...options, warn: (message) => void warnings.push(message) });
  return { trainer, warnings };
}

const SAYS = /^The average training loss of epoch (\d+) is (\S+?), .*`nanGuard`/;

test.each([Number.NaN, Infinity])("data with %d in it: one warning, after the first epoch", async (value) => {
  const { trainer, warnings } = watched({ train: spoiled(value) });
  const after: number[] = [];
  trainer.on("epochBegin", () => void after.push(warnings.length));
  expect((await trainer.fit()).status).toBe("completed");
  expect(after).toEqual([0, 1, 1]);
  expect(warnings).toHaveLength(1);
  expect(SAYS.exec(warnings[0]!)).toMatchObject({ 1: "1", 2: "NaN" });
});

test("a run that comes to it later, or ends within its epoch, names that epoch; a second fit says it again", async () => {
  // Steps that are too large double the parameters again and again, up to infinity.
  const { trainer, warnings } = watched({ optimizer: sgd({ lr: 30 }), epochs: undefined, steps: 11 });
  const { history } = await trainer.fit();
  expect(history.map(({ metrics }) => Number.isFinite(metrics["train/loss"]))).toEqual([true, true, false]);
  expect(warnings.map((text) => SAYS.exec(text)?.[1])).toEqual(["3"]);
  await trainer.fit({ steps: 13 });
  expect(warnings).toHaveLength(2);
});

test("nothing of it in a healthy run, and where a hook deals with it", async () => {
  const halt: Hook = {
    name: "halt",
    onStepEnd: (ctx) => void (Number.isNaN(ctx.loss) && ctx.stop("NaN loss")),
  };
  const late: Hook = { name: "late", onEpochEnd: (ctx) => ctx.stop("the loss is no number") };
  for (const options of [
    {},
    { train: spoiled(Number.NaN), hooks: [nanGuard()] },
    { train: spoiled(Number.NaN), hooks: [halt] },
    { train: spoiled(Number.NaN), hooks: [late] },
  ]) {
    const { trainer, warnings } = watched(options);
    await trainer.fit();
    expect(warnings).toEqual([]);
  }
});

test("of several processes one says it", async () => {
  const ranks = localRanks(2).map((strategy) => watched({ strategy, train: spoiled(Number.NaN) }));
  await Promise.all(ranks.map(({ trainer }) => trainer.fit()));
  expect(ranks.map(({ warnings }) => warnings.length)).toEqual([1, 0]);
});
