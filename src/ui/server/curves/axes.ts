// Positions of the records of a run on each axis that a chart may have.
import type { Columns } from "../../../runs/columns.ts";
import { FIELDS, SAMPLES, TOKENS } from "../../../runs/log-lines.ts";
import type { Axis } from "../../wire.ts";

export interface Positions {
  /** By record. */
  positions: Float64Array;
  /** Whether they never decrease. */
  isSorted: boolean;
}

interface Known extends Positions {
  rows: number;
  /** The next value of the metric that gives the positions. */
  next: number;
}

/** Metrics that give positions. */
const METRICS: Readonly<Partial<Record<Axis, string>>> = { samples: SAMPLES, tokens: TOKENS };

export class Axes {
  readonly #columns: Columns;
  readonly #known = new Map<Axis, Known>();

  constructor(columns: Columns) {
    this.#columns = columns;
  }

  get(axis: Axis): Positions {
    let known = this.#known.get(axis);
    if (!known) this.#known.set(axis, (known = { positions: new Float64Array(0), isSorted: true, rows: 0, next: 0 }));
    const metric = METRICS[axis];
    if (metric === undefined) known.positions = this.#columns.fields[FIELDS.indexOf(axis as "step")]!;
    else this.#extend(known, metric);
    for (; known.rows < this.#columns.rows; known.rows++) {
      const [before, now] = [known.positions[known.rows - 1]!, known.positions[known.rows]!];
      // NaN is not at any position.
      if (known.rows > 0 && !(now >= before)) known.isSorted = false;
    }
    return known;
  }

  /** A record without the metric is at the position of the one before it. */
  #extend(known: Known, metric: string): void {
    const { rows } = this.#columns;
    const column = this.#columns.find(metric);
    if (rows > known.positions.length) {
      const larger = new Float64Array(Math.max(rows, 2 * known.positions.length));
      larger.set(known.positions);
      known.positions = larger;
    }
    for (let row = known.rows; row < rows; row++) {
      if (column && known.next < column.count && column.rows[known.next] === row)
        known.positions[row] = column.values[known.next++]!;
      else known.positions[row] = row > 0 ? known.positions[row - 1]! : 0;
    }
  }

  get bytes(): number {
    let bytes = 0;
    for (const axis of Object.keys(METRICS) as Axis[]) bytes += this.#known.get(axis)?.positions.byteLength ?? 0;
    return bytes;
  }
}
