// How fast a run goes between two logged boundaries, without the time that evaluations take.
interface Counted {
  readonly step: number;
  readonly samplesSeen: number;
  readonly tokensSeen: number;
}

export class Rates {
  #from: Counted & { at: number } = { step: 0, samplesSeen: 0, tokensSeen: 0, at: 0 };
  #pausedAt = 0;

  begin({ step, samplesSeen, tokensSeen }: Counted): void {
    this.#from = { step, samplesSeen, tokensSeen, at: performance.now() };
  }

  pause(): void {
    this.#pausedAt = performance.now();
  }

  resume(): void {
    this.#from.at += performance.now() - this.#pausedAt;
  }

  /** Steps, samples and tokens a second since the last call; nothing where another hook has said it better. */
  since(ctx: Counted, logged: Readonly<Record<string, number>>): Record<string, number> {
    const { step, samplesSeen, tokensSeen, at } = this.#from;
    const seconds = (performance.now() - at) / 1000;
    if (ctx.step === step || seconds <= 0) return {};
    this.begin(ctx);
    if (Object.hasOwn(logged, "perf/stepsPerSec")) return {};
    return {
      "perf/stepsPerSec": (ctx.step - step) / seconds,
      "perf/samplesPerSec": (ctx.samplesSeen - samplesSeen) / seconds,
      ...(ctx.tokensSeen > tokensSeen && { "perf/tokensPerSec": (ctx.tokensSeen - tokensSeen) / seconds }),
    };
  }
}
