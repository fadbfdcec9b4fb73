// The built-in losses by name.
import { bceWithLogits } from "../../nn/bce-with-logits.ts";
import { crossEntropy } from "../../nn/cross-entropy.ts";
import { huber } from "../../nn/huber.ts";
import { l1 } from "../../nn/l1.ts";
import { mse } from "../../nn/mse.ts";
import type { Components } from "./component.ts";

export const losses: Components = {
  bceWithLogits: { make: bceWithLogits },
  crossEntropy: { make: crossEntropy },
  huber: { make: huber },
  l1: { make: l1 },
  mse: { make: mse },
};
