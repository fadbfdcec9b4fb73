// Own events by module augmentation: typed in the hook method, in trainer.on and in trainer.emit.
import { defineEvent, type ContextOf, type Hook } from "hookline";
import { tinyTrainer } from "hookline/testing";
import { describe, expectTypeOf, test } from "vitest";

declare module "hookline" {
  interface CustomEvents {
    labelDrift: { readonly drift: number };
  }
}

const trainer = tinyTrainer();

describe("an own event", () => {
  test("is defined under its own name only", () => {
    expectTypeOf(defineEvent("labelDrift")).toEqualTypeOf<"labelDrift">();
    // @ts-expect-error -- not in CustomEvents
    defineEvent("labelShift");
  });

  test("has a method whose context carries the payload and what stepEnd allows", () => {
    const hook: Hook = {
      name: "watch",
      onLabelDrift(ctx) {
        expectTypeOf(ctx).toEqualTypeOf<ContextOf<"labelDrift">>();
        expectTypeOf(ctx.payload).toEqualTypeOf<{ readonly drift: number }>();
        expectTypeOf(ctx.step).toBeNumber();
        ctx.stop("drift");
        ctx.skip("epoch");
        // @ts-expect-error -- not in stepEnd either
        ctx.skip("step");
        // @ts-expect-error -- an own event has no loss of its own
        void ctx.loss;
      },
    };
    trainer.hooks.add(hook);
    trainer.on("labelDrift", (ctx) => void expectTypeOf(ctx.payload.drift).toBeNumber());
    // @ts-expect-error -- misspelled
    const wrong: Hook = { name: "wrong", onLabelDrfit() {} };
    expectTypeOf(wrong).toEqualTypeOf<Hook>();
  });

  test("is emitted with its payload", () => {
    expectTypeOf(trainer.emit("labelDrift", { drift: 0.5 })).toEqualTypeOf<void | Promise<void>>();
    // @ts-expect-error -- a number
    void trainer.emit("labelDrift", { drift: "much" });
    // @ts-expect-error -- no payload
    void trainer.emit("labelDrift");
    // @ts-expect-error -- the loop fires its own events
    void trainer.emit("stepEnd", {});
  });
});
