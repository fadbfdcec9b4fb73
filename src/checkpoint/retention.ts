// Decides which checkpoints to keep: a pure function of the checkpoints and the rules.
import { monitorValue } from "../core/names.ts";
import { byAge, type CheckpointInfo } from "./store.ts";

/** Without any rule, all checkpoints are kept. */
export interface RetentionRules {
  /** The metric by which checkpoints are compared. Without it, newer is better. */
  readonly monitor?: string;
  readonly mode?: "min" | "max";
  /** How many of the best are kept; -1 keeps all. Needs `monitor`. */
  readonly saveTopK?: number;
  /** How many of the newest are kept beside the best; true is 1. */
  readonly saveLast?: boolean | number;
  /** Checkpoints whose step is a multiple of this are always kept. */
  readonly milestoneEvery?: number;
  /** How many are kept in all: the best with a monitor, else the newest. `saveLast` and milestones are kept in addition. */
  readonly saveTotalLimit?: number;
}

/** What retention needs to know about a checkpoint. */
export interface RetentionEntry extends Pick<CheckpointInfo, "step" | "time" | "serial" | "metrics"> {
  readonly name: string;
}

/** Why a checkpoint is kept. */
export type KeepReason = "best" | "last" | "milestone" | "limit" | "in flight" | "only one" | "no rule";

/** Which checkpoints are kept, and which are removed. */
export interface Retention {
  /** The reasons for keeping each, by name. */
  readonly keep: ReadonlyMap<string, readonly KeepReason[]>;
  /** Names of those to remove, oldest first. */
  readonly remove: readonly string[];
}

/**
 * Decides which of `entries` to keep. Those in `inFlight` (being written or read now) are always kept, and so is the
 * newest if nothing else would be.
 */
export function retain(
  entries: readonly RetentionEntry[],
  rules: RetentionRules,
  inFlight: readonly string[] = [],
): Retention {
  const oldest = [...entries].sort(byAge);
  const newest = oldest.toReversed();
  const ranked = rules.monitor === undefined ? newest : rank(oldest, rules.monitor, rules.mode ?? "min");
  const keep = new Map<string, KeepReason[]>();
  const mark = (reason: KeepReason, marked: readonly RetentionEntry[]): void => {
    for (const { name } of marked) keep.set(name, [...(keep.get(name) ?? []), reason]);
  };

  const { saveTopK, saveLast, milestoneEvery, saveTotalLimit } = rules;
  const limit = saveTotalLimit ?? Infinity;
  const topK = saveTopK === -1 ? Infinity : saveTopK;
  if (topK !== undefined) mark("best", ranked.slice(0, Math.min(topK, limit)));
  else if (saveTotalLimit !== undefined) mark("limit", ranked.slice(0, limit));
  if (saveLast !== undefined) mark("last", newest.slice(0, Number(saveLast)));
  if (milestoneEvery !== undefined)
    mark(
      "milestone",
      oldest.filter(({ step }) => step > 0 && step % milestoneEvery === 0),
    );
  if ([saveTopK, saveLast, milestoneEvery, saveTotalLimit].every((rule) => rule === undefined)) mark("no rule", oldest);
  mark(
    "in flight",
    oldest.filter(({ name }) => inFlight.includes(name)),
  );
  // One that is still being written may fail, so it does not count as the one that is kept.
  if (oldest.every(({ name }) => !keep.has(name) || inFlight.includes(name))) {
    mark("only one", newest.filter(({ name }) => !inFlight.includes(name)).slice(0, 1));
  }
  return { keep, remove: oldest.map(({ name }) => name).filter((name) => !keep.has(name)) };
}

/** Best first. Those without a value, or with NaN, come last. Of equals the older comes first, so none is removed needlessly. */
function rank(oldest: readonly RetentionEntry[], monitor: string, mode: "min" | "max"): RetentionEntry[] {
  const worth = ({ metrics }: RetentionEntry): number => {
    const value = monitorValue(metrics, monitor);
    if (value === undefined || Number.isNaN(value)) return -Infinity;
    return mode === "max" ? value : -value;
  };
  const hasValue = ({ metrics }: RetentionEntry): boolean => !Number.isNaN(monitorValue(metrics, monitor) ?? NaN);
  return [...oldest].sort((a, b) => {
    if (hasValue(a) !== hasValue(b)) return hasValue(a) ? -1 : 1;
    const [first, second] = [worth(a), worth(b)];
    return first === second ? 0 : second - first;
  });
}
