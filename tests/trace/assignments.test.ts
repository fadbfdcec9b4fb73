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

test("in an event of an experiment", async () => {
  const assign = (code: string): Promise<unknown> =>
    tinyExperiment({ hooks: [{ name: "h", onDataRead: sloppy(code) }] }).run();
  await expect(assign("ctx.should_stop = true")).rejects.toThrow("Did you mean ctx.stop(reason)?");
  await expect(assign("ctx.data = []")).rejects.toThrow(
    "ctx.data cannot be assigned. Use the return value of onDataRead.",
  );
});
