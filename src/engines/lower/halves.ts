// A function whose results are wanted in two halves, traced as one: some results by name first, then the others.
import type { Lowering } from "../../nn/marks.ts";
import { leaves, type Tree } from "../engine.ts";
import { trace, type Aval, type Traced } from "./trace.ts";

type Results = Readonly<Record<string, unknown>>;

export interface TracedHalves {
  readonly traced: Traced;
  /** How many of the traced results are early; they come first. */
  readonly early: number;
  /** Puts the results of one half into the structure that the function gave them. */
  readonly unflatten: (made: readonly unknown[], half: 0 | 1) => unknown;
  /** The function with the results of one half alone. */
  readonly only: (half: 0 | 1) => (...args: never[]) => unknown;
}

export function traceHalves(
  fn: (...args: never[]) => Results,
  args: readonly Tree<Aval>[],
  names: readonly string[],
  engine?: Lowering,
): TracedHalves {
  let early = 0;
  const halves = (...given: never[]): readonly [Results, Results] => {
    const results = Object.entries(fn(...given));
    const first = Object.fromEntries(results.filter(([name]) => names.includes(name)));
    const second = Object.fromEntries(results.filter(([name]) => !names.includes(name)));
    early = leaves(first as never).length;
    return [first, second];
  };
  const traced = trace(halves, args, engine);
  const unflatten = (made: readonly unknown[], half: 0 | 1): unknown => {
    const others = Array.from<null>({ length: traced.outs.length - made.length }).fill(null);
    return (traced.unflatten(half === 0 ? [...made, ...others] : [...others, ...made]) as unknown[])[half];
  };
  return {
    traced,
    early,
    unflatten,
    only:
      (half) =>
      (...given) =>
        halves(...given)[half],
  };
}
