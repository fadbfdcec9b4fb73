// The records read so far as columns: a growing array for each field, and rows and values for each metric.
import { FIELDS } from "./log-lines.ts";

const FIRST_ROOM = 64;

/** The array itself, or a copy of twice its length. */
function withRoom(array: Float64Array, length: number): Float64Array {
  if (length <= array.length) return array;
  const larger = new Float64Array(Math.max(FIRST_ROOM, length, 2 * array.length));
  larger.set(array);
  return larger;
}

/** One key of the records. */
class Column {
  readonly name: string;
  /** As it is in a line: `"loss":` */
  readonly key: Uint8Array;
  /** The key that followed this one last time: most lines have the same keys in the same order. */
  next = 0;
  count = 0;
  values: Float64Array = new Float64Array(0);
  /** In which record each value is. */
  rows: Float64Array = new Float64Array(0);

  constructor(name: string) {
    this.name = name;
    this.key = new TextEncoder().encode(`${JSON.stringify(name)}:`);
  }

  add(row: number, value: number): void {
    // JSON takes the last of two equal keys.
    if (this.count > 0 && this.rows[this.count - 1] === row) this.count--;
    if (this.count === this.values.length) {
      this.values = withRoom(this.values, this.count + 1);
      this.rows = withRoom(this.rows, this.count + 1);
    }
    this.values[this.count] = value;
    this.rows[this.count++] = row;
  }
}

export class Columns {
  /** Those of `FIELDS` come first. */
  readonly list: Column[] = [];
  readonly #places = new Map<string, number>();
  rows = 0;
  readonly fields: Float64Array[] = FIELDS.map(() => new Float64Array(0));
  /** Keys and values of the current line, until it turns out to be complete. */
  keys = new Int32Array(FIRST_ROOM);
  values: Float64Array = new Float64Array(FIRST_ROOM);

  constructor() {
    for (const name of FIELDS) this.place(name);
  }

  /** The index of a key's column, which is created if there is none. */
  place(name: string): number {
    let place = this.#places.get(name);
    if (place === undefined) {
      place = this.list.length;
      this.list.push(new Column(name));
      this.#places.set(name, place);
    }
    return place;
  }

  find(name: string): Column | undefined {
    const place = this.#places.get(name);
    return place === undefined ? undefined : this.list[place];
  }

  /** Metrics that have a value. */
  names(): string[] {
    return this.list.filter(({ count }, place) => count > 0 && place >= FIELDS.length).map(({ name }) => name);
  }

  /** Stores value number `index` of the current line. */
  note(index: number, place: number, value: number): void {
    if (index === this.keys.length) {
      this.values = withRoom(this.values, index + 1);
      const keys = new Int32Array(this.values.length);
      keys.set(this.keys);
      this.keys = keys;
    }
    this.keys[index] = place;
    this.values[index] = value;
  }

  /** Appends the stored `count` values as a record. Returns false, and appends nothing, if there is no step among them. */
  commit(count: number): boolean {
    const row = this.rows;
    const { fields, keys, values } = this;
    let first = 0;
    while (first < count && keys[first] !== 0) first++;
    if (first === count) return false;
    if (row === fields[0]!.length) {
      for (let i = 0; i < fields.length; i++) fields[i] = withRoom(fields[i]!, row + 1);
    }
    for (const field of fields) field[row] = NaN;
    for (let i = 0; i < count; i++) {
      const place = keys[i]!;
      if (place < fields.length) fields[place]![row] = values[i]!;
      else this.list[place]!.add(row, values[i]!);
    }
    this.rows++;
    return true;
  }
}
