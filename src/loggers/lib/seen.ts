// Which steps of which metric a service has: it takes nothing back, so what a resumed run logs again is left out.
import type { Json } from "../../core/json.ts";

/** The latest step of each metric, and the milliseconds since 1970 that it carries. */
export type Latest = Readonly<Record<string, readonly [step: number, time: number]>>;

export interface SeenState {
  readonly latest: Latest;
  /** `latest` as it was when this part of the run began. */
  readonly before: Latest;
}

export class Seen {
  #latest: Map<string, readonly [number, number]>;
  #before: Map<string, readonly [number, number]>;

  constructor(state?: SeenState) {
    this.#latest = new Map(Object.entries(state?.latest ?? {}));
    this.#before = new Map(Object.entries(state?.before ?? {}));
  }

  /** A part of the run begins: up to here, whatever comes has come before. */
  begin(): void {
    this.#before = new Map(this.#latest);
  }

  /** Is it new? Time tells two values of one step apart; a resumed run logs a step again at another time. */
  isNew(name: string, step: number, time: number): boolean {
    if (step <= (this.#before.get(name)?.[0] ?? -Infinity)) return false;
    const [lastStep, lastTime] = this.#latest.get(name) ?? [-Infinity, -Infinity];
    return step > lastStep || (step === lastStep && time > lastTime);
  }

  add(name: string, step: number, time: number): void {
    if (this.isNew(name, step, time)) this.#latest.set(name, [step, time]);
  }

  toJSON(): { latest: Json; before: Json } {
    return { latest: Object.fromEntries(this.#latest), before: Object.fromEntries(this.#before) };
  }
}
