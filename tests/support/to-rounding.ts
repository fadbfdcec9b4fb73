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
  readonly relative: number;

  constructor(value: number, relative: number) {
    this.value = value;
    this.relative = relative;
  }

  asymmetricMatch(other: unknown): boolean {
    return (
      Object.is(other, this.value) || Math.abs(Number(other) - this.value) <= this.relative * (1 + Math.abs(this.value))
    );
  }

  toString(): string {
    return `about ${this.value}`;
  }
}

/** What another plan must give: on xla, each number in it to rounding. */
export function byAnotherPlan(value: unknown, relative = RELATIVE): unknown {
  if (!isRounded) return value;
  if (typeof value === "number") return new Near(value, relative);
  if (Array.isArray(value)) return value.map((part) => byAnotherPlan(part, relative));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, byAnotherPlan(part, relative)]));
}

/**
 * The numbers of a parameter, for a comparison with another plan's: their bits, and on xla they themselves. There, the bias
 * of an attention's keys is left out: it changes no attention, its gradient is nothing but rounding, and Adam makes whole
 * steps of that.
 */
export function bitsOf(name: string, { data }: HostArray): number[] {
  if (!isRounded) return [...new Uint32Array(data.slice().buffer)];
  const third = data.length / 3;
  return name.endsWith("in_proj_bias") ? [...data.subarray(0, third), ...data.subarray(2 * third)] : [...data];
}
