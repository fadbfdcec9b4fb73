// What has changed in a run since its last record: speed, interventions, errors of hooks.
import type { ContextOf } from "../../core/context.types.ts";
import type { RunEvent } from "../../runs/types.ts";

interface Counted {
  readonly step: number;
  readonly samplesSeen: number;
  readonly tokensSeen: number;
}

/** The speed of a run between two records, without the time that evaluations take. */
export class Rates {
  #step = 0;
  #samples = 0;
  #tokens = 0;
  #at = 0;
  #pausedAt = 0;

  begin({ step, samplesSeen, tokensSeen }: Counted, now = performance.now()): void {
    this.#step = step;
    this.#samples = samplesSeen;
    this.#tokens = tokensSeen;
    this.#at = now;
  }

  pause(): void {
    this.#pausedAt = performance.now();
  }

  resume(): void {
    this.#at += performance.now() - this.#pausedAt;
  }

  /** Adds steps, samples and tokens a second since the last call; nothing where another hook has said it better. */
  addTo(logged: Record<string, number>, ctx: Counted, now: number): void {
    const steps = ctx.step - this.#step;
    const samples = ctx.samplesSeen - this.#samples;
    const tokens = ctx.tokensSeen - this.#tokens;
    const seconds = (now - this.#at) / 1000;
    if (steps === 0 || seconds <= 0) return;
    this.begin(ctx, now);
    if (Object.hasOwn(logged, "perf/stepsPerSec")) return;
    logged["perf/stepsPerSec"] = steps / seconds;
    logged["perf/samplesPerSec"] = samples / seconds;
    if (tokens > 0) logged["perf/tokensPerSec"] = tokens / seconds;
  }
}

type Around = Pick<ContextOf<"log">, "interventions" | "hooks">;

const NONE: readonly RunEvent[] = [];

/** Interventions of hooks, and errors that their policies caught. */
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
