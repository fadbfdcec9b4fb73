// The built-in ways to split data by name.
import { byTime } from "../splits/by-time.ts";
import { holdout } from "../splits/holdout.ts";
import { kFold } from "../splits/k-fold.ts";
import { leaveOneOut } from "../splits/leave-one-out.ts";
import type { Components } from "./component.ts";

export const splits: Components = {
  byTime: { make: byTime },
  holdout: { make: holdout },
  kFold: { make: kFold },
  leaveOneOut: { make: leaveOneOut },
};
