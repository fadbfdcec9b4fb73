// Puts sequences into rows of one length so that little of them is padding: best-fit decreasing. No sequence is split.

/** For each row the sequences in it, by their indices. The same sizes give the same rows. */
export function packRows(sizes: readonly number[], length: number): number[][] {
  const order = sizes.map((_, i) => i).sort((a, b) => sizes[b]! - sizes[a]! || a - b);
  const rows: number[][] = [];
  const open = new OpenRows(length);
  for (const i of order) {
    const size = sizes[i]!;
    let row = open.take(size);
    if (!row) rows.push((row = { members: [], left: length }).members);
    row.members.push(i);
    row.left -= size;
    open.add(row);
  }
  for (const row of rows) row.sort((a, b) => a - b);
  return rows;
}

interface OpenRow {
  readonly members: number[];
  left: number;
}

/** Rows by the room that they have left. */
class OpenRows {
  readonly #byRoom: OpenRow[][];
  /** A bit for each room that some row has: the search for the next one looks at 32 at a time. */
  readonly #has: Uint32Array;

  constructor(length: number) {
    this.#byRoom = Array.from({ length: length + 1 }, () => []);
    this.#has = new Uint32Array((length >> 5) + 1);
  }

  add(row: OpenRow): void {
    if (row.left === 0) return;
    this.#byRoom[row.left]!.push(row);
    this.#has[row.left >> 5]! |= 1 << (row.left & 31);
  }

  /** The row with the least room that is enough; the oldest of several would do as well as the newest. */
  take(size: number): OpenRow | undefined {
    const room = this.#nextRoom(size);
    if (room === undefined) return undefined;
    const rows = this.#byRoom[room]!;
    const row = rows.pop();
    if (rows.length === 0) this.#has[room >> 5]! &= ~(1 << (room & 31));
    return row;
  }

  #nextRoom(from: number): number | undefined {
    let word = from >> 5;
    let bits = this.#has[word]! & (-1 << (from & 31));
    while (bits === 0) {
      if (++word >= this.#has.length) return undefined;
      bits = this.#has[word]!;
    }
    // The lowest bit that is set.
    return (word << 5) + (31 - Math.clz32(bits & -bits));
  }
}
