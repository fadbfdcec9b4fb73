// The points of all charts on the page: what is visible is asked for in one request, and at most once in 250 ms.
import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Axis, SeriesRequest } from "../../wire.ts";
import { decodeSeries } from "../../series.ts";
import { explain, postForBytes } from "./api.ts";

/** One curve that is visible somewhere. */
interface Want {
  readonly run: string;
  readonly name: string;
  readonly x: Axis;
  readonly px: number;
  readonly from?: number;
  readonly to?: number;
  readonly smooth: number;
}

export interface Points {
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** Present when smoothing was asked for. */
  readonly smooth?: Float64Array | undefined;
  readonly reduced: boolean;
  readonly total: number;
  readonly rev: number;
}

export interface Feed {
  readonly points: ReadonlySignal<Points | null>;
  readonly error: ReadonlySignal<string | null>;
  /** The chart is no longer visible. */
  release(): void;
}

interface Entry {
  readonly want: Want;
  readonly points: Signal<Points | null>;
  readonly error: Signal<string | null>;
  users: number;
  /** Whether there may be something new. */
  stale: boolean;
}

const GAP = 250;
/** Points that came one by one are not reduced: once there are many, all are asked for again. */
const TOO_MANY = 6;

const keyOf = (want: Want): string =>
  [want.run, want.name, want.x, want.px, want.from ?? "", want.to ?? "", want.smooth].join("\n");
const groupOf = ({ x, px, from, to, smooth }: Want): string => JSON.stringify([x, px, from, to, smooth]);

const joined = (a: Float64Array, b: Float64Array): Float64Array => {
  const both = new Float64Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
};

function append(old: Points, more: Points): Points {
  return {
    ...more,
    x: joined(old.x, more.x),
    y: joined(old.y, more.y),
    ...(old.smooth && more.smooth && { smooth: joined(old.smooth, more.smooth) }),
    reduced: old.reduced || more.reduced,
  };
}

class SeriesFeed {
  readonly #entries = new Map<string, Entry>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastAt = 0;
  #asking = false;

  /** The points of a curve, kept up to date until they are released. */
  want(want: Want): Feed {
    const key = keyOf(want);
    let entry = this.#entries.get(key);
    if (!entry) {
      entry = { want, points: signal(null), error: signal(null), users: 0, stale: true };
      this.#entries.set(key, entry);
    }
    entry.users++;
    this.#schedule();
    const used = entry;
    return {
      points: used.points,
      error: used.error,
      release: () => {
        used.users--;
        if (used.users === 0) this.#entries.delete(key);
      },
    };
  }

  /** A run has new records. */
  ring(run: string): void {
    for (const entry of this.#entries.values()) if (entry.want.run === run) entry.stale = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#asking) return;
    const wait = Math.max(0, this.#lastAt + GAP - performance.now());
    this.#timer = setTimeout(() => void this.#ask(), wait);
  }

  async #ask(): Promise<void> {
    this.#timer = undefined;
    this.#asking = true;
    this.#lastAt = performance.now();
    const stale = [...this.#entries.values()].filter((entry) => entry.stale);
    const groups = new Map<string, Entry[]>();
    for (const entry of stale) groups.set(groupOf(entry.want), [...(groups.get(groupOf(entry.want)) ?? []), entry]);
    for (const entry of stale) entry.stale = false;
    await Promise.all([...groups.values()].map((group) => this.#askGroup(group)));
    this.#asking = false;
    if ([...this.#entries.values()].some((entry) => entry.stale)) this.#schedule();
  }

  async #askGroup(group: readonly Entry[]): Promise<void> {
    const { x, px, from, to, smooth } = group[0]!.want;
    const request: SeriesRequest = {
      x,
      px,
      from,
      to,
      smooth,
      series: group.map(({ want: { run, name, px }, points }) => {
        const known = points.peek();
        const whole = known === null || known.x.length > TOO_MANY * px;
        return { run, name, ...(!whole && { after: known.total, rev: known.rev }) };
      }),
    };
    try {
      const answers = decodeSeries(await postForBytes("series", request));
      group.forEach(({ points, error }, i) => {
        const answer = answers[i]!;
        const known = points.peek();
        const continues = request.series[i]!.after !== undefined && known?.rev === answer.rev;
        error.value = null;
        if (!continues) points.value = answer;
        else if (answer.x.length > 0) points.value = append(known, answer);
      });
    } catch (error) {
      for (const entry of group) entry.error.value = explain(error);
    }
  }
}

export const seriesFeed = new SeriesFeed();
