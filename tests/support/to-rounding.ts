// Two plans of a step are different programs. On most engines they give the same bits; XLA on a GPU fuses and rounds each
// program in its own way, so that there they are compared to rounding.
import type { HostArray } from "../../src/core/arrays.ts";
import { testEngine } from "../../src/testing/tiny.ts";

const isRounded = testEngine() === "xla";
/** Some units of the last place of float32, after some steps. */
const RELATIVE = 1e-5;

/** Matches a number that differs by rounding alone. */
class Near {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }

  asymmetricMatch(other: unknown): boolean {
    return (
      Object.is(other, this.value) || Math.abs(Number(other) - this.value) <= RELATIVE * (1 + Math.abs(this.value))
    );
  }

  toString(): string {
    return `about ${this.value}`;
  }
}

/** What another plan must give: on xla, each number in it to rounding. */
export function byAnotherPlan(value: unknown): unknown {
  if (!isRounded) return value;
  if (typeof value === "number") return new Near(value);
  if (Array.isArray(value)) return value.map(byAnotherPlan);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, byAnotherPlan(part)]));
}

/** The numbers of an array, for a comparison with another plan's: their bits, and on xla they themselves. */
export const bitsOf = ({ data }: HostArray): number[] => [...(isRounded ? data : new Uint32Array(data.slice().buffer))];
