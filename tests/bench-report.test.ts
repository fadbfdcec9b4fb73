// The report of the benchmarks: every aim with its figure, and nothing left out that failed or was not measured.
import { expect, test } from "vitest";
import { reportPage, type Measured } from "../bench/lib/report-page.ts";
import type { Aim } from "../bench/lib/report.ts";

const measured = (name: string, aims: readonly Aim[]): Measured => ({
  name,
  at: "2026-03-01T12:34:56.000Z",
  machine: "2 × a processor",
  seconds: 61.7,
  reports: [{ name, title: `${name}: ms`, columns: ["p10", "median"], rows: [["a | b", 1.5, undefined]], aims }],
});

const linesOf = (...all: readonly Measured[]): string[] => reportPage(all).split("\n");

test("an aim is met, missed or without a figure, and a missed one says what limits it", () => {
  const aim = { what: "speed", unit: "×", limit: 2, cause: "the disk" };
  const lines = linesOf(
    measured("a", [
      { ...aim, measured: 2 },
      { ...aim, measured: 2.5, must: true },
      { ...aim, measured: 2, atLeast: true },
      { ...aim, measured: 1.5, atLeast: true },
      { ...aim, measured: undefined },
    ]),
  );
  expect(lines.filter((line) => line.startsWith("| a |"))).toEqual([
    "| a | speed | aim ≤ 2 × | 2.00 × | met |  |",
    "| a | speed | must be ≤ 2 × | 2.50 × | MISSED | the disk |",
    "| a | speed | aim ≥ 2 × | 2.00 × | met |  |",
    "| a | speed | aim ≥ 2 × | 1.500 × | MISSED | the disk |",
    "| a | speed | aim ≤ 2 × |  | no figure |  |",
  ]);
  expect(lines[2]).toMatch(/^2 met, 2 missed, 1 without a figure\./);
});

test("a figure that a file could not hold is none", () => {
  const through = JSON.parse(JSON.stringify(measured("a", [{ what: "x", measured: NaN, unit: "s", limit: 1 }])));
  expect(linesOf(through as Measured)).toContain("| a | x | aim ≤ 1 s |  | no figure |  |");
});

test("one that failed and one that was never run are told", () => {
  const lines = linesOf({ ...measured("broken", []), reports: [], failed: "Error: no disk" }, { name: "new" });
  expect(lines).toContain("| broken | all |  |  | failed |  |");
  expect(lines).toContain("| new | all |  |  | not measured yet |  |");
  expect(lines).toContain("Error: no disk");
  expect(lines).toContain("Not measured yet: `npm run bench new`.");
});

test("tables keep their columns", () => {
  const lines = linesOf(measured("a", []));
  expect(lines).toContain("Measured 2026-03-01 12:34 UTC in 62 s on 2 × a processor.");
  expect(lines).toContain("|  | p10 | median |");
  expect(lines).toContain("| a \\| b | 1.500 |  |");
});
