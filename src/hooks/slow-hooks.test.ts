import { expect, test } from "vitest";
import type { Hook } from "../core/hook.ts";
import { tinyTrainer } from "../testing/index.ts";

const busy = (ms: number) => (): void => {
  for (const end = performance.now() + ms; performance.now() < end;);
};

test("Keras/TF #37876, #608, icenet #7: who is slow, and in which event, is said by name", async () => {
  const slow: Hook = { name: "slow", budget: 1, onStepEnd: busy(4) };
  const quick: Hook = { name: "quick", budget: 1000, onStepEnd: busy(1) };
  const trainer = tinyTrainer({ hooks: [quick, slow] });
  const { hookTimes } = await trainer.fit();
  expect(hookTimes.overBudget).toEqual([
    { hook: "slow", event: "stepEnd", budget: 1, msPerCall: expect.any(Number) as number },
  ]);
});
