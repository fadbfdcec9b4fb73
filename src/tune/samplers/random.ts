// random: every trial's parameters drawn on their own. The measure of the others, and hard to beat with many machines.
import { component } from "../../core/component.ts";
import { is } from "../../core/options.ts";
import { Rng } from "../../data/random.ts";
import type { SpaceTree } from "../space/parameters.ts";
import { Space } from "../space/space.ts";
import type { Params, Sampler } from "../types.ts";

/** Options of `random`. */
export interface RandomOptions {
  /** Default 0. */
  readonly seed?: number;
}

/** @example random({ lr: logUniform(1e-4, 1e-1) }, { seed: 1 }) */
export const random = /* @__PURE__ */ component(
  {
    kind: "sampler",
    name: "random",
    takes: () => ({ args: { space: is.anything }, options: { seed: is.whole }, supplied: ["space"] }),
  },
  (space: Space | SpaceTree, options: RandomOptions = {}): Sampler => {
    const { seed = 0 } = options;
    const whole = Space.of(space);
    return { name: "random", suggest: (number) => drawParams(whole, new Rng(seed, number)) };
  },
);

/** Params drawn at random. A coordinate for every parameter, so that a choice does not move those that follow it. */
export function drawParams(space: Space, rng: Rng): Params {
  return space.fromUnit(space.parameters.map(() => rng.next()));
}
