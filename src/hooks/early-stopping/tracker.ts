// One monitored metric: its best value, and how long ago it last improved.

/** How long to wait for an improvement. */
export interface Patience {
  readonly value: number;
  readonly unit: "check" | "epoch" | "step";
}

export interface TrackerOptions {
  readonly mode: "min" | "max";
  /** The smallest change that counts as an improvement; with `relative`, a share of the best value. */
  readonly minDelta: number;
  readonly relative: boolean;
  readonly patience: Patience;
  readonly baseline: number | undefined;
  readonly stoppingThreshold: number | undefined;
  readonly divergenceThreshold: number | undefined;
  readonly checkFinite: boolean;
}

// Type aliases, not interfaces: TypeScript accepts only these as the plain data of a hook's state.

/** When a value was seen. */
export type At = { readonly step: number; readonly epoch: number };

/** The tracker's part of the hook's state. */
export type TrackerState = {
  readonly best: number | null;
  readonly bestStep: number;
  /** Checks since the last improvement, and where that was. */
  readonly checks: number;
  readonly since: At | null;
};

export interface Verdict {
  readonly improved: boolean;
  /** Why this metric would end the run. */
  readonly why?: string;
  /** The metric diverged or is not finite: the run stops whatever the other metrics say. */
  readonly failed?: boolean;
}

const START: TrackerState = { best: null, bestStep: 0, checks: 0, since: null };

/** Four digits, for messages. */
export const brief = (value: number): string => String(Number(value.toPrecision(4)));
const plural = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? "" : "s"}`;

export class Tracker {
  readonly monitor: string;
  state: TrackerState = START;
  readonly #options: TrackerOptions;

  constructor(monitor: string, options: TrackerOptions) {
    this.monitor = monitor;
    this.#options = options;
  }

  reset(): void {
    this.state = START;
  }

  /** Records the value of one check. */
  observe(value: number, at: At): Verdict {
    const { baseline, checkFinite, divergenceThreshold, stoppingThreshold } = this.#options;
    const { monitor } = this;
    const before = this.state;
    const improved = Number.isFinite(value) && (before.best === null || this.#better(value, before.best));
    if (improved) this.state = { ...this.state, best: value, bestStep: at.step };
    // A new best value that does not beat the baseline is recorded, but does not reset the wait.
    const counts = improved && (baseline === undefined || this.#better(value, baseline));
    this.state = counts
      ? { ...this.state, checks: 0, since: { step: at.step, epoch: at.epoch } }
      : { ...this.state, checks: before.checks + 1, since: before.since ?? { step: at.step, epoch: at.epoch } };

    if (checkFinite && !Number.isFinite(value)) return { improved, failed: true, why: `${monitor} is ${value}` };
    if (divergenceThreshold !== undefined && this.#beyond(divergenceThreshold, value)) {
      const why = `${monitor} is ${brief(value)}, worse than the divergence threshold ${divergenceThreshold}`;
      return { improved, failed: true, why };
    }
    if (stoppingThreshold !== undefined && !this.#beyond(stoppingThreshold, value)) {
      return { improved, why: `${monitor} is ${brief(value)}: the stopping threshold ${stoppingThreshold} is reached` };
    }
    const { patience } = this.#options;
    const waited = this.waited(at);
    return waited < patience.value ? { improved } : { improved, why: this.#stalled(plural(waited, patience.unit)) };
  }

  /** The index of the best of these values, the first of equals; −1 when none is finite. */
  bestOf(values: readonly (number | undefined)[]): number {
    const finite = values.filter((value) => value !== undefined && Number.isFinite(value)) as number[];
    const best = this.#options.mode === "min" ? Math.min(...finite) : Math.max(...finite);
    return values.indexOf(best);
  }

  /** The time since the last improvement, in the unit of the patience. */
  waited(at: At): number {
    const { checks, since } = this.state;
    const { unit } = this.#options.patience;
    return unit === "check" ? checks : since === null ? 0 : at[unit] - since[unit];
  }

  #stalled(waited: string): string {
    const { baseline } = this.#options;
    const { best } = this.state;
    if (best === null) return `${this.monitor} has had no finite value for ${waited}`;
    if (baseline !== undefined && !this.#better(best, baseline))
      return `${this.monitor} has not improved on its baseline ${brief(baseline)} for ${waited}`;
    return `${this.monitor} has not improved on ${brief(best)} for ${waited}`;
  }

  #better(value: number, than: number): boolean {
    const { mode, minDelta, relative } = this.#options;
    const delta = relative ? minDelta * Math.abs(than) : minDelta;
    return mode === "min" ? value < than - delta : value > than + delta;
  }

  /** Is `value` worse than `threshold`? NaN is. */
  #beyond(threshold: number, value: number): boolean {
    return this.#options.mode === "min" ? !(value <= threshold) : !(value >= threshold);
  }
}
