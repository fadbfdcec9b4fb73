import { describe, expect, test } from "vitest";
import type { TrialInfo } from "../../core/outer-events.ts";
import { textWidth } from "../../terminal/width.ts";
import { choice, logUniform } from "../../tune/space/parameters.ts";
import { Space } from "../../tune/space/space.ts";
import { trialInfo } from "../../../tests/support/trials.ts";
import { shortNames, trialLines, type TrialsView } from "./trial-lines.ts";

const space = new Space({
  optimizer: { lr: logUniform(1e-4, 1), use: choice(["sgd", "adamw"]) },
});

function trial(number: number, status: TrialInfo["status"], losses: readonly number[]): TrialInfo {
  const reports = losses.map((loss, i) => ({ step: 10 * (i + 1), values: { "val/loss": loss } }));
  const params = { optimizer: { lr: 0.01 * (number + 1), use: "sgd" } };
  return trialInfo(number, { params, status, reports, result: reports.at(-1)?.values });
}

const trials = [
  trial(0, "completed", [1, 0.5, 0.4]),
  trial(1, "failed", []),
  trial(2, "completed", [1, 0.3, 0.1]),
  trial(3, "pruned", [2]),
  trial(4, "running", [1.5, 1]),
];

const view: TrialsView = {
  name: "tiny",
  space,
  objectives: [{ metric: "val/loss", mode: "min" }],
  trials,
  total: 20,
  elapsed: 62,
  secondsOf: (number) => (number === 1 ? undefined : number),
};
const style = { color: false, unicode: true };
const lines = (columns: number, rows = 24, more: Partial<TrialsView> = {}): readonly string[] =>
  trialLines({ ...view, ...more }, style, { columns, rows });

test("running first, then best first, and who cannot be compared last", () => {
  expect(lines(100)).toEqual([
    "tiny: 4/20 trials, 1 running, 2 completed, 1 pruned, 1 failed, 1:02",
    "best so far: trial 2, val/loss 0.1000",
    "trial  status       lr  use  step  val/loss       time",
    "    4  running    0.05  sgd    20         1  █▁   0:04",
    "    2  completed  0.03  sgd    30    0.1000  █▄▁  0:02",
    "    0  completed  0.01  sgd    30    0.4000  █▂▁  0:00",
    "    3  pruned     0.04  sgd    10         2  ▅    0:03",
    "    1  failed     0.02  sgd",
  ]);
});

test("less room: the curve goes, then parameters from the right, then the time and the step", () => {
  const head = (columns: number): string => lines(columns)[2]!;
  expect(head(50)).toBe("trial  status       lr  use  step  val/loss  time");
  expect(head(44)).toBe("trial  status       lr  step  val/loss  time");
  expect(head(38)).toBe("trial  status     step  val/loss  time");
  expect(head(26)).toBe("trial  status     val/loss");
});

describe("whatever the size of the terminal", () => {
  test.each([1, 5, 20, 40, 80, 200])("%i columns are enough", (columns) => {
    for (const line of lines(columns)) expect(textWidth(line)).toBeLessThanOrEqual(columns);
  });

  test.each([3, 6, 8, 24])("%i rows: the table leaves one free, and says how many trials are left out", (rows) => {
    const shown = lines(80, rows);
    expect(shown.length).toBeLessThanOrEqual(rows - 1);
    if (rows > 5) expect(shown.at(-1)).toMatch(rows < 9 ? /^and \d more$/ : /failed/);
  });
});

test("no trials yet, no unicode, names that could steer a terminal", () => {
  expect(lines(80, 24, { trials: [], total: undefined })).toEqual(["tiny: 0 trials, 1:02"]);
  const ascii = trialLines(view, { color: false, unicode: false }, { columns: 30, rows: 24 });
  expect(ascii.join("")).toMatch(/^[ -~]*$/);
  expect(lines(80, 24, { name: "a\u001B[2Jb" })[0]).toContain("a\\u001b[2Jb: 4/20");
  expect(trialLines(view, { ...style, color: true }, { columns: 100, rows: 24 })[3]).toContain("\u001B[36mrunning");
});

test("names are as short as they can be told apart", () => {
  expect(shortNames(["optimizer.lr", "model.layers.0.out", "model.layers.2.out", "lr"])).toEqual([
    "optimizer.lr",
    "0.out",
    "2.out",
    "lr",
  ]);
});
