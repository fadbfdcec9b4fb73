// The built-in schedulers of trials by name.
import { asha } from "../../tune/schedulers/asha.ts";
import { hyperband } from "../../tune/schedulers/hyperband.ts";
import { median } from "../../tune/schedulers/median.ts";
import { none } from "../../tune/schedulers/none.ts";
import { pbt } from "../../tune/schedulers/pbt.ts";
import type { Components } from "./component.ts";

export const schedulers: Components = {
  asha: { make: asha },
  hyperband: { make: hyperband },
  median: { make: median },
  none: { make: none },
  pbt: { make: pbt },
};
