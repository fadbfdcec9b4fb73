// How fast a run goes between two logged boundaries, without the time that evaluations take.
interface Counted {
  readonly step: number;
  readonly samplesSeen: number;
  readonly tokensSeen: number;
}

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
