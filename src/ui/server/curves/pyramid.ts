// Where the least, the greatest and the first missing value of each block of a curve are: blocks of 64 points, then of
// four blocks each. The extremes of any range follow from a few blocks, however long the curve is.

const SMALLEST = 64;
const FANOUT = 4;
const NONE = -1;

/** Indexes of the least value, of the greatest, and of the first NaN in a range; -1 where there is none. */
export interface Extremes {
  min: number;
  max: number;
  nan: number;
}

/** The blocks of one size: three indexes each. */
interface Level {
  readonly size: number;
  indexes: Int32Array;
  count: number;
}

export class Pyramid {
  readonly #levels: Level[] = [];

  /** Adds the blocks that the first `count` values complete. */
  extend(values: Float64Array, count: number): void {
    for (let depth = 0, size = SMALLEST; size <= count; depth++, size *= FANOUT) {
      const level = (this.#levels[depth] ??= { size, indexes: new Int32Array(0), count: 0 });
      const blocks = Math.floor(count / size);
      grow(level, blocks);
      for (; level.count < blocks; level.count++) {
        const from = level.count * size;
        const { min, max, nan } = this.extremes(values, from, from + size);
        level.indexes.set([min, max, nan], 3 * level.count);
      }
    }
  }

  /** The extremes of `values[from … to)`. */
  extremes(values: Float64Array, from: number, to: number): Extremes {
    const found: Extremes = { min: NONE, max: NONE, nan: NONE };
    for (let at = from; at < to;) {
      const level = this.#levelAt(at, to);
      if (!level) {
        note(found, values, at++);
        continue;
      }
      const block = 3 * (at / level.size);
      for (let i = 0; i < 3; i++) {
        const index = level.indexes[block + i]!;
        if (index !== NONE) note(found, values, index);
      }
      at += level.size;
    }
    return found;
  }

  /** The largest blocks of which one begins at `at` and ends before `to`. */
  #levelAt(at: number, to: number): Level | undefined {
    let best: Level | undefined;
    if (at % SMALLEST !== 0) return best;
    for (const level of this.#levels) {
      const { size, count } = level;
      if (at % size !== 0 || at + size > to || at / size >= count) break;
      best = level;
    }
    return best;
  }

  get bytes(): number {
    return this.#levels.reduce((sum, { indexes }) => sum + indexes.byteLength, 0);
  }
}

function grow(level: Level, blocks: number): void {
  if (3 * blocks <= level.indexes.length) return;
  const larger = new Int32Array(Math.max(3 * blocks, 2 * level.indexes.length));
  larger.set(level.indexes);
  level.indexes = larger;
}

function note(found: Extremes, values: Float64Array, at: number): void {
  const value = values[at]!;
  if (Number.isNaN(value)) {
    if (found.nan === NONE) found.nan = at;
    return;
  }
  if (found.min === NONE || value < values[found.min]!) found.min = at;
  if (found.max === NONE || value > values[found.max]!) found.max = at;
}
