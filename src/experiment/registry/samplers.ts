// The built-in samplers by name.
import { grid } from "../../tune/samplers/grid.ts";
import { random } from "../../tune/samplers/random.ts";
import { sobol } from "../../tune/samplers/sobol.ts";
import { tpe } from "../../tune/samplers/tpe.ts";
import type { Components } from "./component.ts";

const ofSpace = { args: ["space"], given: ["space"] };

export const samplers: Components = {
  grid: { make: grid, ...ofSpace },
  random: { make: random, ...ofSpace },
  sobol: { make: sobol, ...ofSpace },
  tpe: { make: tpe, ...ofSpace },
};
