// A cadence whose bare numbers are steps on every event: for hooks that also listen to batches, where they would be batches.
import type { Cadence } from "../../core/cadence.ts";

type Amount = number | string;

const steps = (amount: Amount): Amount => (typeof amount === "number" ? `${amount} steps` : amount);

export function inSteps(cadence: Cadence): Cadence {
  if (typeof cadence !== "object") return steps(cadence);
  const { every, from, until, at, ...rest } = cadence;
  return {
    ...rest,
    ...(every !== undefined && { every: steps(every) }),
    ...(from !== undefined && { from: steps(from) }),
    ...(until !== undefined && { until: steps(until) }),
    ...(at !== undefined && { at: at.map(steps) }),
  };
}
