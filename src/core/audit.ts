// The audit: every intervention of a hook in the run, in order. It is part of the run's result.

/** A verb that a hook called: who, when, what and why. */
export interface Intervention {
  /** The hook that asked. */
  readonly who: string;
  readonly event: string;
  readonly step: number;
  readonly epoch: number;
  /** The verb, with its argument in short: `setLr(0.001)`. */
  readonly what: string;
  readonly why?: string;
  /** The processes whose hook asked, where several train together. */
  readonly ranks?: readonly number[];
  /** Set when the request was not carried out, and why. */
  refused?: string;
}

/** Interventions are rare, but a hook may scale every batch of a long run: past this the oldest go, and are counted. */
const KEEP = 10_000;

export class Audit {
  readonly #entries: Intervention[] = [];
  dropped = 0;

  add(entry: Intervention): Intervention {
    if (this.#entries.length === KEEP) {
      this.#entries.shift();
      this.dropped++;
    }
    this.#entries.push(entry);
    return entry;
  }

  /** A live view, oldest first. */
  get entries(): readonly Intervention[] {
    return this.#entries;
  }

  clear(): void {
    this.#entries.length = 0;
    this.dropped = 0;
  }
}
