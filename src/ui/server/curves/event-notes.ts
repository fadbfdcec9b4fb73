// What a page needs of events.jsonl at once: the parts of a resumed run, its hooks and their times.
import type { HookRow, HookTimes } from "../../wire.ts";

/** Readings of hook times that are kept; of more, every second one is dropped. */
const MOST_TIMES = 2000;

type Times = HookTimes["times"];

export class EventNotes {
  parts: { readonly startedAt: number; readonly step: number }[] = [];
  hookTimes: HookTimes[] = [];
  #hooks: readonly Omit<HookRow, "calls" | "ms">[] = [];

  clear(): void {
    this.parts = [];
    this.hookTimes = [];
    this.#hooks = [];
  }

  take({ type, step, time, details }: Readonly<Record<string, unknown>>): void {
    if (typeof step !== "number" || typeof time !== "number") return;
    if (type === "start") this.parts.push({ startedAt: time, step });
    if (type !== "hooks" || typeof details !== "object" || details === null) return;
    const { hooks, times } = details as { hooks?: unknown; times?: unknown };
    if (Array.isArray(hooks)) this.#hooks = hooks as HookRow[];
    if (!Array.isArray(times)) return;
    this.hookTimes.push({ step, time, times: times as Times });
    if (this.hookTimes.length > MOST_TIMES) this.hookTimes = this.hookTimes.filter((_, i) => i % 2 === 1);
  }

  /** With the calls and times of the last reading. */
  get hooks(): HookRow[] {
    const times = this.hookTimes.at(-1)?.times ?? [];
    return this.#hooks.map((hook) => {
      const own = times.filter(([name]) => name === hook.name);
      const sum = (at: 2 | 3): number => own.reduce((total, each) => total + each[at], 0);
      return { ...hook, calls: sum(2), ms: sum(3) };
    });
  }
}
