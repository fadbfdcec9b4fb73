// Which steps of which metric a service has: it takes nothing back, so what a resumed run logs again is left out.

/** The latest step of each metric. */
export type Latest = Readonly<Record<string, number>>;

export class Seen {
  readonly #latest: Map<string, number>;

  constructor(latest: Latest = {}) {
    this.#latest = new Map(Object.entries(latest));
  }

  isNew(name: string, step: number): boolean {
    return step > (this.#latest.get(name) ?? -Infinity);
  }

  add(name: string, step: number): void {
    if (this.isNew(name, step)) this.#latest.set(name, step);
  }

  toJSON(): Latest {
    return Object.fromEntries(this.#latest);
  }
}
