// Checks that schedulers share.
import { is, type Check } from "../../core/options.ts";

/** Steps are whatever a trial reports: whole numbers of epochs, or fractions. */
export const isSteps: Check = {
  expected: "a finite number > 0",
  schema: { type: "number", exclusiveMinimum: 0 },
  test: (value) => is.positive.test(value) && Number.isFinite(value),
};

export const isFactor: Check = {
  expected: "a finite number ≥ 2",
  schema: { type: "number", minimum: 2 },
  test: (value) => Number.isFinite(value) && (value as number) >= 2,
};
