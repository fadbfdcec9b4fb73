import { expect, test } from "vitest";
import { split } from "./split.ts";
import { Table } from "./table/table.ts";

const x = Int32Array.from({ length: 10 }, (_, i) => i);

test("parts hold every sample once, fields together", () => {
  const parts = split({ x, y: x.map((v) => v * 2) }, [0.7, 0.2, 0.1]);
  expect(parts.map((part) => part.x!.shape)).toEqual([[7], [2], [1]]);
  expect(new Set(parts.flatMap((part) => Array.from(part.x!.data)))).toEqual(new Set(x));
  for (const part of parts) expect(part.y!.data).toEqual((part.x!.data as Int32Array).map((v) => v * 2));
  expect(split({ x }, [0.5, 0.5], 1)).toEqual(split({ x }, [0.5, 0.5], 1));
  expect(split({ x }, [0.5, 0.5], 1)).not.toEqual(split({ x }, [0.5, 0.5], 2));
});

test("fractions must be a division of the whole", () => {
  expect(() => split({ x }, [0.5, 0.6])).toThrow("Expected fractions > 0 that add up to 1, got [0.5, 0.6]");
  expect(() => split({ x }, [1.5, -0.5])).toThrow("Expected fractions > 0");
  expect(() => split({ x }, [0.99, 0.01])).toThrow("a part of 0.01 of 10 samples has none");
});

test("tables are split into tables, with the rows of arrays", () => {
  const table = Table.fromColumns({ x, s: [...x].map(String) });
  const parts = split(table, [0.7, 0.3], 4);
  const arrays = split({ x }, [0.7, 0.3], 4);
  for (const [i, part] of parts.entries()) {
    expect(part).toBeInstanceOf(Table);
    expect(part.column("x")).toMatchObject({ values: Float64Array.from(arrays[i]!.x!.data) });
    for (let row = 0; row < part.rowCount; row++) expect(part.row(row).s).toBe(String(part.row(row).x));
  }
});
