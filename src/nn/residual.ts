// A residual connection: x + inner(x).
import { component } from "../core/component.ts";
import { is, one } from "../core/options.ts";
import type { Layer } from "./layer.ts";
import { tap } from "./tap.ts";

/** Adds the input to the output of `inner`, whose parameter names stay as they are; probes see that output as `branch`. */
export const residual = /* @__PURE__ */ component(
  { kind: "model", name: "residual", takes: () => ({ args: { inner: { ...is.object, holds: one("model") } } }) },
  (inner: Layer): Layer => {
    return {
      ...inner,
      apply(params, x, ctx) {
        const result = inner.apply(params, x.ref, ctx);
        if (!Array.isArray(result)) return x.add(tap("branch", result));
        const [y, state] = result;
        return [x.add(tap("branch", y)), state];
      },
    };
  },
);
