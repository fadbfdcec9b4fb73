// random: the parameters of each trial are drawn independently. The baseline for other samplers.
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

/** Draws a coordinate for every parameter, so that a choice does not change the draws of those after it. */
export function drawParams(space: Space, rng: Rng): Params {
  return space.fromUnit(space.parameters.map(() => rng.next()));
}
