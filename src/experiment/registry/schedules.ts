// The built-in schedules of the learning rate by name.
import { constant } from "../../optim/schedules/constant.ts";
import { cosine } from "../../optim/schedules/cosine.ts";
import { exponential } from "../../optim/schedules/exponential.ts";
import { linear } from "../../optim/schedules/linear.ts";
import { oneCycle } from "../../optim/schedules/one-cycle.ts";
import { plateau } from "../../optim/schedules/plateau.ts";
import { sequence } from "../../optim/schedules/sequence.ts";
import { step } from "../../optim/schedules/step.ts";
import { warmup } from "../../optim/schedules/warmup.ts";
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
