import type { ContextOf, Hook, HookState } from "hookline";
import { tinyTrainer, type TinyOptions } from "hookline/testing";
import { expect, test } from "vitest";
import { schedule } from "./schedule.ts";
import { when } from "./when.ts";

/** As people write them: private fields, methods on the prototype, a getter, and a base class. */
class Base {
  seen: string[] = [];
  onTrainBegin(): void {
    this.seen.push("begin");
  }
  onClose(): void {
    this.seen.push("close");
  }
}

class Counter extends Base {
  readonly name = "counter";
  readonly onError = "disable";
  readonly version = 3;
  #count = 0;
  get count(): number {
    return this.#count;
  }
  onStepEnd(ctx: ContextOf<"stepEnd">): void {
    this.#count++;
    this.seen.push(String(ctx.step));
  }
  state(): HookState {
    return { json: { count: this.#count } };
  }
  load({ json }: HookState): void {
    this.#count = (json as { count: number }).count;
  }
}

async function fit(hook: Hook, options: TinyOptions = {}) {
  const plans: string[] = [];
  await using trainer = tinyTrainer({ samples: 32, ...options, hooks: [hook] });
  trainer.on("stepBegin", () => void plans.push(trainer.explainPlan().split(":")[0]!));
  const result = await trainer.fit();
  return { result, plans, registered: trainer.hooks.get(hook.name) };
}

test("a class instance keeps its `this`, its fields, name, state and policy", async () => {
  const counter = new Counter();
  const hook = schedule(3, counter);
  expect(hook).toMatchObject({ name: "counter", onError: "disable", version: 3 });
  const { registered } = await fit(hook);
  expect(counter.seen).toEqual(["begin", "3", "6", "close"]);
  expect(counter.count).toBe(2);
  // What the trainer holds shows the instance as it is now.
  expect((registered as unknown as Counter).count).toBe(2);
  expect(await hook.state!()).toEqual({ json: { count: 2 } });
  await hook.load!({ json: { count: 7 } }, 3);
  expect(counter.count).toBe(7);
  (hook as unknown as Counter).seen = [];
  expect(counter.seen).toEqual([]);
});

test("a frozen hook can be scheduled", async () => {
  const seen: number[] = [];
  await fit(schedule(4, Object.freeze<Hook>({ name: "h", every: 2, onStepEnd: (ctx) => void seen.push(ctx.step) })));
  expect(seen).toEqual([4, 8]);
});

test("nested schedules, and the hook's own `every`, must all be due", async () => {
  const seen: number[] = [];
  const hook: Hook = { name: "h", every: 2, onStepEnd: (ctx) => void seen.push(ctx.step) };
  await fit(schedule({ until: 6 }, schedule({ from: 3 }, hook)));
  expect(seen).toEqual([4, 6]);
  expect(hook.every).toBe(2);
});

test("between times the step is one program", async () => {
  const { plans } = await fit(schedule(4, { name: "h", onBeforeOptimizerStep: () => undefined }));
  expect(plans).toEqual(["fused", "fused", "fused", "split", "fused", "fused", "fused", "split"]);
});

test("once, sampling, from an epoch on: all are cadences", async () => {
  const steps = async (cadence: Parameters<typeof schedule>[0]) => {
    const seen: number[] = [];
    await fit(schedule(cadence, { name: "h", onStepEnd: (ctx) => void seen.push(ctx.step) }), { epochs: 2 });
    return seen;
  };
  expect(await steps({ at: [5] })).toEqual([5]);
  expect(await steps({ from: "1 epoch" })).toEqual([9, 10, 11, 12, 13, 14, 15, 16]);
  const sampled = await steps({ sample: 0.5 });
  expect(sampled.length).toBeGreaterThan(2);
  expect(sampled.length).toBeLessThan(14);
  expect(await steps({ every: 7, atEnd: true })).toEqual([7, 14, 16]);
});

test("the policy of the hook decides about its errors", async () => {
  const broken: Hook = {
    name: "broken",
    onError: "disable",
    onStepEnd() {
      throw new Error("no");
    },
  };
  const { result } = await fit(
    when(() => true, schedule(2, broken)),
    { warn: () => undefined },
  );
  expect(result.hookErrors).toMatchObject([{ hook: "broken", event: "stepEnd", step: 2 }]);
});

test("when and schedule compose in either order", async () => {
  for (const wrap of [
    (hook: Hook) => when((ctx) => ctx.step > 4, schedule(2, hook)),
    (hook: Hook) =>
      schedule(
        2,
        when((ctx) => ctx.step > 4, hook),
      ),
  ]) {
    const counter = new Counter();
    await fit(wrap(counter));
    expect(counter.seen).toEqual(["begin", "6", "8", "close"]);
  }
});

test("a mistake in the cadence is an error at once", () => {
  expect(() => schedule("3 stpes", { name: "h" })).toThrow(/Did you mean `steps`/);
  expect(() => schedule({ evry: 3 } as never, { name: "h" })).toThrow(/Did you mean `every`/);
});

test("misspelled methods are still found", () => {
  expect(() => tinyTrainer({ hooks: [schedule(2, { name: "h", onStepEdn: () => undefined } as never)] })).toThrow(
    /Did you mean `onStepEnd`/,
  );
});
