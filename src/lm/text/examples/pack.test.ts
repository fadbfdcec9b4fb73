// Packing against a best-fit decreasing that looks at every row, for random sizes.
import fc from "fast-check";
import { expect, test } from "vitest";
import { packRows } from "./pack.ts";

/** The room left in each row, by trying all of them. */
function slowly(sizes: readonly number[], length: number): number[] {
  const rooms: number[] = [];
  for (const size of sizes.toSorted((a, b) => b - a)) {
    let best = -1;
    for (const [i, room] of rooms.entries()) if (room >= size && (best < 0 || room < rooms[best]!)) best = i;
    if (best < 0) best = rooms.push(length) - 1;
    rooms[best]! -= size;
  }
  return rooms.toSorted((a, b) => a - b);
}

test("every sequence is in one row, rows are not overfull, and each goes where it fits best", () => {
  const length = 100;
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: length })), (sizes) => {
      const rows = packRows(sizes, length);
      expect(rows.flat().toSorted((a, b) => a - b)).toEqual(sizes.map((_, i) => i));
      const rooms = rows.map((row) => length - row.reduce((sum, i) => sum + sizes[i]!, 0));
      expect(rooms.toSorted((a, b) => a - b)).toEqual(slowly(sizes, length));
      expect(packRows(sizes, length)).toEqual(rows);
    }),
  );
});

test.each([31, 32, 63, 64, 65, 1024])("rows of %i", (length) => {
  // Whole and nearly whole rows lie at the borders of the words in which the search looks.
  const sizes = [length, length - 1, 1, Math.ceil(length / 2), Math.floor(length / 2)];
  expect(packRows(sizes, length)).toHaveLength(3);
});
