// The check of a number of features: its limit keeps a file that was tampered with from filling the memory.
import type { Check } from "../../core/options.ts";

const MOST = 2 ** 20;

export const featureCount: Check = {
  expected: `a whole number from 1 to ${MOST}`,
  schema: { type: "integer", minimum: 1, maximum: MOST },
  test: (value) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MOST,
};
