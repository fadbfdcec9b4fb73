// What hooks did and what failed in them, as events of the run.
import type { ContextOf } from "../../core/context.ts";
import type { Intervention } from "../../core/interventions.ts";
import { messageOf } from "../../core/maybe.ts";
import type { Json } from "../../core/options.ts";
import type { RunEvent } from "../../runs/types.ts";

/** An intervention as events.jsonl has it. One that is refused later has a second line. */
export function interventionEvent({ step, ...entry }: Intervention): RunEvent {
  const { who, event, what, why = "", epoch, by, command, replayOf, ranks, refused } = entry;
  const known = { by, command, replayOf, ranks, refused };
  const more = Object.entries(known).filter(([, value]) => value !== undefined) as [string, Json][];
  const details = { who, event, what, why, epoch, ...Object.fromEntries(more) };
  return { type: refused === undefined ? "intervention" : "refused", step, time: Date.now(), details };
}

/** Errors of hooks that their policies caught. */
export class Failures {
  /** How many have been returned. */
  reported = 0;

  begin(): void {
    this.reported = 0;
  }

  /** Those since the last call. */
  since({ hooks: { failures } }: Pick<ContextOf<"log">, "hooks">): readonly RunEvent[] {
    const time = Date.now();
    const events = failures.slice(this.reported).map(({ hook, event, step, error }): RunEvent => {
      return { type: "hookError", step, time, details: { hook, event, message: messageOf(error) } };
    });
    this.reported = failures.length;
    return events;
  }
}
