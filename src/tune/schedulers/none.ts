// none: every trial runs to its end.
import { checkOptions } from "../../core/options.ts";
import type { Scheduler } from "../types.ts";

/** Every trial runs to its end. */
export function none(options: object = {}): Scheduler {
  checkOptions("none", options, {});
  return { name: "none", decide: () => ({ kind: "continue" }) };
}
