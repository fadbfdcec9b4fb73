// Flattens everything after the batch dimension.
import { component } from "../core/component.ts";
import { pure, type Layer } from "./layer.ts";

/** [batch, a, b, …] → [batch, a·b·…]. */
export const flatten = /* @__PURE__ */ component({ kind: "model", name: "flatten" }, (): Layer =>
  pure((x) => x.reshape([x.shape[0] ?? 1, x.shape.slice(1).reduce((a, b) => a * b, 1)])),
);
