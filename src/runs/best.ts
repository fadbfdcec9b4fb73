// The best value of each metric, updated with every record. run.json states it, so that a list of runs need not read logs.
import { directionOf } from "../core/names.ts";
import { numberFromJson } from "./exact-json.ts";
import type { RunLog } from "./read-run.ts";
import type { BestValue, Numbers, RunInfo } from "./types.ts";

/** Whether one value of a metric is better than another, as far as its name tells: a learning rate has no best. */
export const hasBest = (name: string): boolean =>
  directionOf(name) === "max" || /loss|error|perplexity|mse|mae/i.test(name) || /^(?:val|test)\//.test(name);

/** NaN only when there is no number: a run that diverged must not look like one without the metric. */
function isBetter(name: string, value: number, best: number): boolean {
  if (Number.isNaN(best)) return !Number.isNaN(value);
  return directionOf(name) === "min" ? value < best : value > best;
}

export class BestValues {
  readonly #best = new Map<string, BestValue>();
  /** Of every metric, also of those that have no best. */
  readonly #latest = new Map<string, number>();
  /** Cached: the same few names come with every record. */
  readonly #hasBest = new Map<string, boolean>();

  /** Those in a run.json. */
  static of({ best = {}, metrics = {} }: RunInfo): BestValues {
    const found = new BestValues();
    for (const name in best) {
      const value = numberFromJson(best[name]!.value) ?? NaN;
      found.#best.set(name, { value, step: best[name]!.step });
      found.#latest.set(name, value);
    }
    for (const name in metrics) found.#latest.set(name, numberFromJson(metrics[name]) ?? NaN);
    return found;
  }

  /** Those in a log. */
  static in(log: Pick<RunLog, "names" | "get">): BestValues {
    const found = new BestValues();
    for (const name of log.names) {
      const { steps, values } = log.get(name);
      for (let i = 0; i < values.length; i++) found.add(name, values[i]!, steps[i]!);
    }
    return found;
  }

  add(name: string, value: number, step: number): void {
    this.#latest.set(name, value);
    let counts = this.#hasBest.get(name);
    if (counts === undefined) this.#hasBest.set(name, (counts = hasBest(name)));
    if (!counts) return;
    const best = this.#best.get(name);
    if (!best || isBetter(name, value, best.value)) this.#best.set(name, { value, step });
  }

  get best(): Readonly<Record<string, BestValue>> {
    return Object.fromEntries(this.#best);
  }

  get latest(): Numbers {
    return Object.fromEntries(this.#latest);
  }
}
