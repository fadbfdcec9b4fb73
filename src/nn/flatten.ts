// Flattens everything after the batch dimension.
import { pure, type Layer } from "./layer.ts";

/** [batch, a, b, …] → [batch, a·b·…]. */
export function flatten(): Layer {
  return pure((x) => x.reshape([x.shape[0] ?? 1, x.shape.slice(1).reduce((a, b) => a * b, 1)]));
}
