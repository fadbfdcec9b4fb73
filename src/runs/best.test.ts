// The best value of a metric: which metrics have one, and what counts as better.
import { expect, test } from "vitest";
import { BestValues } from "./best.ts";

function bestOf(...values: readonly (readonly [name: string, value: number])[]): unknown {
  const found = new BestValues();
  values.forEach(([name, value], i) => found.add(name, value, i + 1));
  return found.best;
}

test("less loss and more accuracy are better; a learning rate has no best", () => {
  expect(bestOf(["loss", 2], ["loss", 1], ["loss", 3])).toEqual({ loss: { value: 1, step: 2 } });
  expect(bestOf(["accuracy", 0.5], ["accuracy", 0.25])).toEqual({ accuracy: { value: 0.5, step: 1 } });
  expect(bestOf(["lr", 1], ["samplesPerSecond", 5])).toEqual({});
  expect(bestOf(["val/anything", 1])).toEqual({ "val/anything": { value: 1, step: 1 } });
});

test("the first of equal values counts, and NaN only where there is no number", () => {
  expect(bestOf(["loss", NaN], ["loss", NaN])).toEqual({ loss: { value: NaN, step: 1 } });
  expect(bestOf(["loss", NaN], ["loss", 4], ["loss", NaN], ["loss", 4])).toEqual({ loss: { value: 4, step: 2 } });
});
