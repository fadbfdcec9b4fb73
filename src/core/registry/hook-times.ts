// What hooks cost: calls and milliseconds for each hook and event.

interface HookTime {
  readonly hook: string;
  readonly event: string;
  /** Calls, estimated where hot events are sampled. */
  readonly calls: number;
  /** Total milliseconds, estimated likewise. */
  readonly ms: number;
}

/** What hooks cost. */
export interface HookReport {
  /** Most expensive first. */
  readonly times: readonly HookTime[];
  /** Hooks whose mean call took longer than their `budget`. */
  readonly overBudget: readonly {
    readonly hook: string;
    readonly event: string;
    readonly budget: number;
    readonly msPerCall: number;
  }[];
}

/** Called after each call of a hook, with how many milliseconds it took. */
export type HookWatcher = (hook: string, event: string, ms: number) => void;

export class HookTimes {
  readonly #rows = new Map<string, { hook: string; event: string; calls: number; ms: number }>();
  #watchers: readonly HookWatcher[] = [];

  /** A property, since dispatch calls it as a function. */
  readonly add = ({ hook }: { readonly hook: string }, event: string, ms: number, weight: number): void => {
    const key = `${event} ${hook}`;
    const row = this.#rows.get(key);
    if (row) {
      row.calls += weight;
      row.ms += ms * weight;
    } else this.#rows.set(key, { hook, event, calls: weight, ms: ms * weight });
    for (const watcher of this.#watchers) watcher(hook, event, ms);
  };

  get isWatched(): boolean {
    return this.#watchers.length > 0;
  }

  watch(fn: HookWatcher): void {
    this.#watchers = [...this.#watchers, fn];
  }

  unwatch(fn: HookWatcher): void {
    this.#watchers = this.#watchers.filter((other) => other !== fn);
  }

  clear(): void {
    this.#rows.clear();
  }

  report(budgets: ReadonlyMap<string, number>): HookReport {
    const times = [...this.#rows.values()].map((row) => ({ ...row })).sort((a, b) => b.ms - a.ms);
    const overBudget = times.flatMap(({ hook, event, calls, ms }) => {
      const budget = budgets.get(hook);
      return budget !== undefined && ms / calls > budget ? [{ hook, event, budget, msPerCall: ms / calls }] : [];
    });
    return { times, overBudget };
  }
}
