// Which hooks a run has and what they cost so far, as events: at the start, when hooks change, every minute, and at the
// end. A page shows the cost of hooks over steps from these.
import type { ContextOf } from "../../core/context.ts";
import type { RunEvent } from "../../runs/types.ts";

const EVERY_MS = 60_000;

/** Microseconds are precise enough, and a third of the text. */
const rounded = (ms: number): number => Math.round(ms * 1000) / 1000;

export class HookNotes {
  /** Of the hooks in the last event; another one means that they have changed. */
  version = -1;
  /** When the next event is due. */
  nextAt = 0;

  event({ hooks, step }: Pick<ContextOf<"log">, "hooks" | "step">, now: number): RunEvent {
    this.version = hooks.version;
    this.nextAt = now + EVERY_MS;
    const listed = hooks.list().map((hook) => ({ ...hook }));
    const times = hooks.report().times.map(({ hook, event, calls, ms }) => [hook, event, calls, rounded(ms)]);
    return { type: "hooks", step, time: Date.now(), details: { hooks: listed, times } };
  }
}
