// Where a built-in's warnings go: to the trainer's `warn`, or to the console like the trainer's own.
import type { ContextOf } from "../../core/context.types.ts";
import { printWarning } from "../../platform/print.ts";

export function warnUser({ warn }: ContextOf<"init">["config"], message: string): void {
  if (typeof warn === "function") (warn as (message: string) => void)(message);
  else printWarning(message);
}
