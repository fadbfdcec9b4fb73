// The order of hooks at every event: by stage, then by registration, under the constraints of `before` and `after`.
import { HookRegistrationError } from "../errors.ts";
import { hookEvents } from "../events.ts";
import type { HookEntry } from "./hook-entry.ts";
import { STAGES, type Stage } from "../hook.ts";
import { didYouMean } from "../names.ts";
import { safeText } from "../safe-text.ts";

export interface Ordered {
  readonly name: string;
  readonly stage: Stage;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

interface Placed<T extends Ordered> {
  readonly item: T;
  /** Why it has this place, for `hooks.explain()`. */
  readonly because: string;
}

/** One cycle among the items that could not be placed, as `a → b → a`. */
function describeCycle(names: ReadonlySet<string>, mustFollow: ReadonlyMap<string, ReadonlySet<string>>): string {
  const path: string[] = [];
  let at = [...names][0]!;
  while (!path.includes(at)) {
    path.push(at);
    at = [...mustFollow.get(at)!].find((name) => names.has(name))!;
  }
  return [...path.slice(path.indexOf(at)), at].toReversed().join(" → ");
}

/**
 * Items by stage, then registration; one that must run before another is moved to just ahead of it. Otherwise the other
 * would have to wait for a later stage, and a user's hook would run after the checkpoints.
 */
function preferredOrder<T extends Ordered>(items: readonly T[]): T[] {
  const sorted = items.toSorted((a, b) => STAGES.indexOf(a.stage) - STAGES.indexOf(b.stage));
  const place = new Map(sorted.map((item, i) => [item.name, i]));
  const justAhead = 1 / (items.length + 1);
  // As many rounds as the longest chain can have links; a cycle is found later.
  for (let round = 0; round < items.length; round++) {
    for (const { name, before } of sorted) {
      for (const other of before) place.set(name, Math.min(place.get(name)!, place.get(other)! - justAhead));
    }
  }
  return sorted.sort((a, b) => place.get(a.name)! - place.get(b.name)!);
}

/** Sorts under the before/after constraints: next is always the first item in preferred order whose predecessors are all placed. */
export function orderHooks<T extends Ordered>(items: readonly T[]): Placed<T>[] {
  const byName = new Map(items.map((item) => [item.name, item]));
  const mustFollow = new Map<string, Set<string>>(items.map((item) => [item.name, new Set<string>()]));
  const reasons = new Map<string, string[]>();
  const constrain = (first: string, second: string, asked: T, word: string, other: string): void => {
    if (!byName.has(other)) {
      throw new HookRegistrationError(
        `Hook \`${asked.name}\` wants to run ${word} \`${other}\`, but no hook has that name.${didYouMean(other, byName.keys())} Registered: ${[...byName.keys()].join(", ")}.`,
      );
    }
    mustFollow.get(second)!.add(first);
    reasons.set(asked.name, [...(reasons.get(asked.name) ?? []), `${word} ${other}`]);
  };
  for (const item of items) {
    for (const other of item.before) constrain(item.name, other, item, "before", other);
    for (const other of item.after) constrain(other, item.name, item, "after", other);
  }
  const waiting = preferredOrder(items);
  const placed: Placed<T>[] = [];
  const done = new Set<string>();
  while (waiting.length > 0) {
    const next = waiting.findIndex((item) => [...mustFollow.get(item.name)!].every((name) => done.has(name)));
    if (next < 0) {
      const names = new Set(waiting.map((item) => item.name));
      throw new HookRegistrationError(
        `The order of hooks has a cycle: ${describeCycle(names, mustFollow)}. Remove one of their \`before\`/\`after\` settings.`,
      );
    }
    const [item] = waiting.splice(next, 1) as [T];
    done.add(item.name);
    placed.push({ item, because: [`stage ${item.stage}`, ...(reasons.get(item.name) ?? [])].join(", ") });
  }
  return placed;
}

/** Which hooks run at an event, in which order and why; for one event, or for all that have listeners. */
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
