// The built-in schedules of the learning rate by name.
import { constant, cosine, exponential, linear, oneCycle, step } from "../../optim/schedules/curves.ts";
import { plateau } from "../../optim/schedules/plateau.ts";
import { sequence, warmup } from "../../optim/schedules/composite.ts";
import { each, one, type Components } from "./component.ts";

export const schedules: Components = {
  constant: { make: constant },
  cosine: { make: cosine },
  exponential: { make: exponential },
  linear: { make: linear },
  oneCycle: { make: oneCycle },
  plateau: { make: plateau },
  sequence: { make: sequence, args: ["parts"], parts: { parts: each({ schedule: one("schedule") }) } },
  step: { make: step },
  warmup: { make: warmup, parts: { schedule: one("schedule") } },
};
