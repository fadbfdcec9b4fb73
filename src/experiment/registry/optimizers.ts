// The built-in optimizers by name.
import { adam, adamw } from "../../optim/adam.ts";
import { lion } from "../../optim/lion.ts";
import { rmsprop } from "../../optim/rmsprop.ts";
import { sgd } from "../../optim/sgd.ts";
import { one, type Components } from "./component.ts";

const parts = { schedule: one("schedule") };

export const optimizers: Components = {
  adam: { make: adam, parts },
  adamw: { make: adamw, parts },
  lion: { make: lion, parts },
  rmsprop: { make: rmsprop, parts },
  sgd: { make: sgd, parts },
};
