import { expect, it } from "vitest";
import { minimise } from "../../../tests/support/trials.ts";
import { simulate } from "../../../tests/support/simulate-study.ts";
import { uniform } from "../space/parameters.ts";
import { none } from "./none.ts";

it("lets every trial run to its end", () => {
  const study = minimise({ x: uniform(0, 1) });
  const run = simulate({ scheduler: none(), study, trials: 7, maxSteps: 9, workers: 3, loss: (number) => number });
  expect(run.steps).toBe(63);
  expect(run.trials.map(({ status }) => status)).toEqual(Array(7).fill("completed"));
});
