// How fast a run trains: steps, samples and tokens per second between two records.
import type { ContextOf } from "../../core/context.ts";

export type Counters = Pick<ContextOf<"log">, "step" | "samplesSeen" | "tokensSeen">;

/** Training speed between two records, without the time of evaluations and pauses. */
export class Rates {
  #last = { step: 0, samplesSeen: 0, tokensSeen: 0 };
  #at = 0;
  #pausedAt = 0;
  /** An evaluation during a pause is part of it. */
  #pauses = 0;

  begin({ step, samplesSeen, tokensSeen }: Counters, now = performance.now()): void {
    this.#last = { step, samplesSeen, tokensSeen };
    this.#at = now;
  }

  pause(): void {
    if (this.#pauses++ === 0) this.#pausedAt = performance.now();
  }

  resume(): void {
    if (--this.#pauses === 0) this.#at += performance.now() - this.#pausedAt;
  }

  /** Adds steps, samples and tokens per second since the last call, unless a hook such as `throughput` has. */
  addTo(logged: Record<string, number>, ctx: Counters, now: number): void {
    const steps = ctx.step - this.#last.step;
    const samples = ctx.samplesSeen - this.#last.samplesSeen;
    const tokens = ctx.tokensSeen - this.#last.tokensSeen;
    const seconds = (now - this.#at) / 1000;
    if (steps === 0 || seconds <= 0) return;
    this.begin(ctx, now);
    if (Object.hasOwn(logged, "perf/stepsPerSec")) return;
    logged["perf/stepsPerSec"] = steps / seconds;
    logged["perf/samplesPerSec"] = samples / seconds;
    if (tokens > 0) logged["perf/tokensPerSec"] = tokens / seconds;
  }
}
