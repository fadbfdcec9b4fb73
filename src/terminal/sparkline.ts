// A curve as large as a word: the loss over the run, in a few characters.

/** Fewer than this, and never more than twice as many, points are kept of a run of any length. */
const KEPT = 60;

const LEVELS = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The values of a run, from its beginning to now: the longer it gets, the more of them one point stands for. */
export class Curve {
  #points: number[] = [];
  #open: number[] = [];
  #stride = 1;

  add(value: number): void {
    this.#open.push(value);
    if (this.#open.length < this.#stride) return;
    this.#points.push(mean(this.#open));
    this.#open = [];
    if (this.#points.length < 2 * KEPT) return;
    this.#points = inBins(this.#points, KEPT);
    this.#stride *= 2;
  }

  clear(): void {
    this.#points = [];
    this.#open = [];
    this.#stride = 1;
  }

  get points(): readonly number[] {
    return this.#open.length > 0 ? [...this.#points, mean(this.#open)] : this.#points;
  }
}

/** At most `count` means of neighbours. */
function inBins(points: readonly number[], count: number): number[] {
  if (points.length <= count) return [...points];
  return Array.from({ length: count }, (_, i) => {
    const [from, to] = [(i * points.length) / count, ((i + 1) * points.length) / count];
    return mean(points.slice(Math.floor(from), Math.ceil(to)));
  });
}

/** One character for each of at most `width` points; `×` where one is not a number. */
export function sparkline(points: readonly number[], width: number): string {
  const shown = inBins(points, width);
  // On a linear scale the first steps of a run would make all others look the same.
  const scale = points.every((value) => !(value <= 0)) ? Math.log : (value: number): number => value;
  const heights = shown.map(scale);
  const finite = heights.filter(Number.isFinite);
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  return heights
    .map((height) => {
      if (!Number.isFinite(height)) return "×";
      const share = high > low ? (height - low) / (high - low) : 0.5;
      return LEVELS[Math.min(LEVELS.length - 1, Math.floor(share * LEVELS.length))]!;
    })
    .join("");
}
