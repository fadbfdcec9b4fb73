// `hooks.explain()`: who runs at which event, in which order, and why.
import { safeText } from "./safe-text.ts";
import { hookEvents } from "./events.ts";
import type { HookEntry } from "./hook-entry.ts";
import { orderHooks } from "./order.ts";

/** For one event, or for all that have listeners. */
export function explainHooks(entries: readonly HookEntry[], event?: string): string {
  const events = event === undefined ? hookEvents() : [event];
  const placed = orderHooks(entries);
  const blocks = events.map((name) => {
    const rows = placed.filter(({ item }) => item.events.includes(name));
    if (rows.length === 0) return event === undefined ? "" : `${name}\n  nobody listens`;
    const lines = rows.map(
      ({ item, because }, i) => `  ${i + 1}. ${item.name}${item.enabled ? "" : " (disabled)"}  [${because}]`,
    );
    return [name, ...lines].join("\n");
  });
  return safeText(blocks.filter(Boolean).join("\n"));
}
