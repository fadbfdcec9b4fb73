// Assigning to a context is an error that says what to do instead, in sloppy JavaScript too.
import { HookError } from "hookline";
import { tinyTrainer } from "hookline/testing";
import { describe, expect, test } from "vitest";
import { tinyExperiment } from "../support/tiny-experiment.ts";

/** Not strict, as a script is: there, an assignment that cannot be done is ignored. */
// oxlint-disable-next-line typescript/no-implied-eval
const sloppy = (code: string) => new Function("ctx", code) as (ctx: object) => void;

const assigning = (code: string): Promise<unknown> =>
  tinyTrainer({ hooks: [{ name: "h", onStepEnd: sloppy(code) }] })
    .fit()
    .catch((error: unknown) => error);

describe("in an event of the loop", () => {
  test.each([
    ["ctx.should_stop = true", "The context has no field `should_stop` to assign. Did you mean ctx.stop(reason)?"],
    ["ctx.shouldStop = true", "Did you mean ctx.stop(reason)?"],
    ["ctx.stop = true", "ctx.stop cannot be assigned. Use ctx.stop(reason)."],
    ["ctx.loss = 3", "ctx.loss cannot be assigned. Use ctx.scaleLoss(k) or ctx.setLoss(loss)."],
    ["ctx.los = 3", "Did you mean ctx.scaleLoss(k) or ctx.setLoss(loss)?"],
    ["ctx.lr = 0.1", "ctx.lr cannot be assigned. Use ctx.setLr(lr)."],
    ["ctx.step = 0", "ctx.step cannot be assigned."],
    ["ctx.hook = 'x'", "ctx.hook cannot be assigned."],
    ["ctx.seen = 1", "What a hook keeps for itself belongs to the hook, or into ctx.shared."],
  ])("%s", async (code, message) => {
    const error = await assigning(code);
    expect(error).toBeInstanceOf(HookError);
    expect((error as Error).message).toContain(message);
  });
});

describe("of an optimizer and its groups", () => {
  test.each([
    ["groups[0].learningRate", "ctx.optimizers[0].groups[0] has no field `learningRate` to assign. Did you mean"],
    ["groups[0].learning_rate", "Did you mean ctx.optimizers[0].groups[0].lr?"],
    ["groups[0].weight_decay", "Did you mean ctx.optimizers[0].groups[0].weightDecay?"],
    ["groups[0].momentun", "Did you mean ctx.optimizers[0].groups[0].momentum?"],
    ["groups[0].betas", "These can be assigned: ctx.optimizers[0].groups[0].lr, "],
    ["groups[0].name", "ctx.optimizers[0].groups[0].name cannot be assigned. These can: "],
    ["lr", "ctx.optimizers[0] has no field `lr` to assign. Did you mean ctx.optimizers[0].groups[0].lr?"],
    ["updates", "ctx.optimizers[0].updates cannot be assigned."],
  ])("%s", async (field, message) => {
    const error = await assigning(`ctx.optimizers[0].${field} = 0.5`);
    expect(error).toBeInstanceOf(HookError);
    expect((error as Error).message).toContain(message);
  });

  test("what can be assigned still is, and is recorded", async () => {
    const lr = sloppy("ctx.optimizers[0].groups[0].lr = 0.5; ctx.optimizers[0].groups[0].weightDecay = 0.25");
    const seen: unknown[] = [];
    const read = { name: "r", onStepEnd: (ctx: { lr: number }) => void seen.push(ctx.lr) };
    const { interventions } = await tinyTrainer({ hooks: [{ name: "h", onTrainBegin: lr }, read] }).fit();
    expect(seen).toEqual([0.5, 0.5, 0.5, 0.5]);
    expect(interventions.map(({ what }) => what)).toEqual([
      "optimizers[0].groups[0].lr = 0.5",
      "optimizers[0].groups[0].weightDecay = 0.25",
    ]);
  });
});

test("in an event of an experiment", async () => {
  const assign = (code: string): Promise<unknown> =>
    tinyExperiment({ hooks: [{ name: "h", onDataRead: sloppy(code) }] }).run();
  await expect(assign("ctx.should_stop = true")).rejects.toThrow("Did you mean ctx.stop(reason)?");
  await expect(assign("ctx.data = []")).rejects.toThrow(
    "ctx.data cannot be assigned. Use the return value of onDataRead.",
  );
});
