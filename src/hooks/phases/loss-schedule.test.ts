import type { Hook, Loss } from "hookline";
import { DataLoader } from "hookline/data";
import { l1, mse } from "hookline/nn";
import { tinyData, tinyTrainer } from "hookline/testing";
import { expect, test } from "vitest";
import { lossSchedule } from "./loss-schedule.ts";

const losses = async (hooks: Hook[], fits: readonly number[] = [3]) => {
  const seen: number[] = [];
  await using trainer = tinyTrainer({
    hooks: [...hooks, { name: "watch", onStepEnd: (ctx) => void seen.push(ctx.loss) }],
    eval: new DataLoader(tinyData(4), { batchSize: 4 }),
  });
  let metrics: Readonly<Record<string, number>> = {};
  for (const epochs of fits) ({ metrics } = await trainer.fit({ epochs }));
  return { seen, val: metrics["val/loss"] };
};

/** Sets the loss by hand in the same step. */
const byHand = (at: number, loss: Loss): Hook => ({
  name: "byHand",
  onStepBegin: (ctx) => void (ctx.step === at && ctx.setLoss(loss)),
});

test("changes the loss exactly where it says, for evaluations too", async () => {
  const scheduled = await losses([lossSchedule({ schedule: [{ from: "1 epoch", loss: l1() }] })]);
  expect(scheduled).toEqual(await losses([byHand(5, l1())]));
  expect(scheduled.seen).not.toEqual((await losses([])).seen);
});

test("the last phase whose time has come holds; a second fit goes on with it", async () => {
  const schedule = [
    { from: 3, loss: l1() },
    { from: "2 epochs", loss: mse() },
  ];
  const scheduled = await losses([lossSchedule({ schedule })], [1, 2, 3]);
  expect(scheduled.seen).toEqual((await losses([byHand(3, l1()), { ...byHand(9, mse()), name: "b" }])).seen);
});

test("mistakes are errors at construction", () => {
  expect(() => lossSchedule({} as never)).toThrow(/missing option `schedule`/);
  expect(() => lossSchedule({ schedule: [{ from: 1, los: l1() } as never] })).toThrow(/Did you mean `loss`/);
  expect(() => lossSchedule({ schedule: [{ from: "1 epcoh", loss: l1() }] })).toThrow(/Did you mean `epochs`/);
});
