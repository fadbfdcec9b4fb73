// The metrics of a run: the latest value of each, and what waits for the next boundary that logs.
import type { Metrics } from "../context.ts";
import type { Media } from "../media.ts";

export class RunLog {
  /** Latest value of every metric. */
  metrics: Record<string, number> = {};
  /** What the current boundary logs, or the last one did. */
  logged: Metrics = {};
  media: Readonly<Record<string, Media>> = {};
  /** Since the last boundary that logged. */
  unlogged: Record<string, number> = {};
  #unloggedMedia: Record<string, Media> = {};
  /** Has a hook or an evaluation logged something since? Then it must be shown at the step where it belongs. */
  news = false;
  /** False for a boundary that only some hooks asked for, by a cadence of their own. */
  isForAll = true;
  #open = false;

  /** Takes what goes with the next boundary that logs, whenever that is. */
  merge(values: Readonly<Record<string, number | Media>>): void {
    // What a hook adds while a boundary is being logged is part of it, for the hooks that come after.
    const shown = this.#open ? (this.logged as Record<string, number>) : this.unlogged;
    const media = this.#open ? (this.media as Record<string, Media>) : this.#unloggedMedia;
    for (const name of Object.keys(values)) {
      const value = values[name]!;
      if (typeof value === "number") {
        this.metrics[name] = value;
        shown[name] = value;
      } else media[name] = value;
    }
  }

  /** Takes what a hook or an evaluation has found out. */
  report(values: Readonly<Record<string, number | Media>>): void {
    this.merge(values);
    this.news ||= !this.#open;
  }

  /**
   * Gathers what a boundary logs, in `values` itself; until `end`, what hooks log joins it. What waits for a boundary
   * goes with the next one that is for all, or the hooks that are not called now would never see it.
   */
  begin(values: Record<string, number>, isForAll = true): void {
    this.isForAll = isForAll;
    this.#open = true;
    if (!isForAll) {
      this.logged = values;
      this.media = {};
      return;
    }
    const { unlogged } = this;
    for (const name of Object.keys(unlogged)) values[name] = unlogged[name]!;
    this.logged = values;
    this.media = this.#unloggedMedia;
    this.unlogged = {};
    this.#unloggedMedia = {};
    this.news = false;
  }

  end(): void {
    this.#open = false;
  }

  /** Puts back what a checkpoint keeps. */
  load(metrics: Metrics, unlogged: Metrics): void {
    this.metrics = { ...metrics };
    this.unlogged = { ...unlogged };
  }

  clear(): void {
    this.load({}, {});
    this.#unloggedMedia = {};
    this.news = false;
  }
}
