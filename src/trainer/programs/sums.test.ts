import { expect, it } from "vitest";
import type { Metric } from "../../core/model.ts";
import { DataLoader } from "../../data/data-loader.ts";
import { mae, rmse } from "../../nn/metrics/errors.ts";
import { tinyData, tinyTrainer } from "../../testing/tiny.ts";

it("computes a metric that is `evalOnly` in evaluations alone, with the same result", async () => {
  const trainer = tinyTrainer({
    metrics: { first: { ...mae(), evalOnly: true }, both: mae() },
    eval: new DataLoader(tinyData(8, 2), { batchSize: 4 }),
  });
  const { metrics } = await trainer.fit();
  expect(Object.keys(metrics).sort()).toEqual(["train/both", "train/loss", "val/both", "val/first", "val/loss"]);
  expect(metrics["val/first"]).toBe(metrics["val/both"]);
  expect(metrics["train/both"]).toBeGreaterThan(0);
  await trainer.close();
});

it("keeps the sums of metrics apart from each other and from the loss, constants such as a count too", async () => {
  const evaluate = async (metrics: Record<string, Metric>): Promise<Record<string, number>> => {
    const trainer = tinyTrainer({ metrics });
    const values = await trainer.evaluate(new DataLoader(tinyData(8, 2), { batchSize: 4 }));
    await trainer.close();
    return values;
  };
  const alone = await evaluate({});
  const { "test/a": a, "test/b": b, "test/loss": loss } = await evaluate({ a: rmse(), b: mae() });
  expect(loss).toBe(alone["test/loss"]);
  expect(a).toBeCloseTo(Math.sqrt(loss!), 5);
  expect(b).toBe((await evaluate({ b: mae() }))["test/b"]);
  expect(b).toBeLessThan(a!);
});
