// none: every trial runs to its end.
import { component } from "../../core/component.ts";
import type { Scheduler } from "../types.ts";

/** Every trial runs to its end. */
export const none = /* @__PURE__ */ component(
  { kind: "scheduler", name: "none", takes: () => ({ options: {} }) },
  (_options: object = {}): Scheduler => ({ name: "none", decide: () => ({ kind: "continue" }) }),
);
