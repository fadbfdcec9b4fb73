// Where the time of programs goes, by step: for benchmarks. While it is off, it costs nothing.

export interface ProfiledStep {
  readonly label: string;
  readonly calls: number;
  /** In milliseconds, of all calls together. */
  readonly total: number;
  readonly least: number;
}

export class Profile {
  isOn = false;
  readonly #steps = new Map<string, { calls: number; total: number; least: number }>();

  time(label: string, work: () => void): void {
    const begun = performance.now();
    work();
    const took = performance.now() - begun;
    const known = this.#steps.get(label) ?? { calls: 0, total: 0, least: Infinity };
    this.#steps.set(label, {
      calls: known.calls + 1,
      total: known.total + took,
      least: Math.min(known.least, took),
    });
  }

  /** The steps so far, the longest first. */
  get steps(): ProfiledStep[] {
    return [...this.#steps].map(([label, times]) => ({ label, ...times })).sort((a, b) => b.total - a.total);
  }
}
