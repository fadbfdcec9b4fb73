// What has happened in a run since one last asked: interventions of hooks, and errors that their policies caught.
import type { ContextOf } from "../../core/context.types.ts";
import type { RunEvent } from "../../runs/types.ts";

type Around = Pick<ContextOf<"log">, "interventions" | "hooks">;

const NONE: readonly RunEvent[] = [];

export class RunEvents {
  #last: unknown;
  #failures = 0;

  begin(): void {
    this.#last = undefined;
    this.#failures = 0;
  }

  news({ interventions, hooks }: Around): readonly RunEvent[] {
    // Asked at every log, and nearly always in vain.
    if (interventions.at(-1) === this.#last && hooks.failures.length === this.#failures) return NONE;
    const time = Date.now();
    const events: RunEvent[] = [];
    if (interventions.at(-1) !== this.#last) {
      const known = interventions.findLastIndex((each) => each === this.#last);
      for (const { who, event, step, what, why = "" } of interventions.slice(known + 1))
        events.push({ type: "intervention", step, time, details: { who, event, what, why } });
      this.#last = interventions.at(-1);
    }
    for (const { hook, event, step, error } of hooks.failures.slice(this.#failures)) {
      const message = error instanceof Error ? error.message : String(error);
      events.push({ type: "hookError", step, time, details: { hook, event, message } });
    }
    this.#failures = hooks.failures.length;
    return events;
  }
}
