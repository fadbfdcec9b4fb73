// The built-in metrics by name.
import { accuracy } from "../../nn/accuracy.ts";
import { perplexity } from "../../nn/perplexity.ts";
import { mae, rmse } from "../../nn/regression-metrics.ts";
import type { Components } from "./component.ts";

export const metrics: Components = {
  accuracy: { make: accuracy },
  mae: { make: mae },
  perplexity: { make: perplexity },
  rmse: { make: rmse },
};
