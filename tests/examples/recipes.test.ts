// The recipes run, and show what they promise: in their short form with less data, so the bounds are far from what they
// reach in full. The page that trains in a browser: vite-page.test.ts.
import { expect, test } from "vitest";
import { numberIn, runExample } from "./run-example.ts";

const timeout = 300_000; // each takes a few seconds of one core; it may have to share it

test("augmented images: both trainings learn", { timeout }, async () => {
  const output = await runExample("recipes/augmented-images.ts");
  expect(numberIn(output, /^without augmentation: ([\d.]+) %/m)).toBeGreaterThan(60);
  expect(numberIn(output, /^with augmentation: ([\d.]+) %/m)).toBeGreaterThan(60);
});

test(
  "text classification: better than the larger class, and plots of its own are told apart",
  { timeout },
  async () => {
    const output = await runExample("recipes/text-classification.ts");
    const always = numberIn(output, /^always "Comedy": ([\d.]+) %/m);
    expect(numberIn(output, /^after \d+ epochs: ([\d.]+) %/m)).toBeGreaterThan(always);
    expect(output).toContain("Horror: A family is haunted");
    expect(output).toContain("Comedy: Two friends");
  },
);

test("time series: better than the same hour of a week ago", { timeout }, async () => {
  const output = await runExample("recipes/time-series.ts");
  const naive = numberIn(output, /^a week ago: +off by ([\d.]+) MW/m);
  expect(numberIn(output, /^the network: +off by ([\d.]+) MW/m)).toBeLessThan(naive);
});

test("imbalanced classes: with weights the rare class is found, without it is not", { timeout }, async () => {
  const output = await runExample("recipes/imbalanced-classes.ts");
  const row = (name: string): number[] => {
    const line = output.split("\n").find((each) => each.startsWith(name))!;
    return line.slice(name.length).trim().split(/ +/).map(Number);
  };
  const [plain, balanced] = [row("plain loss"), row("balanced classes")];
  expect(plain[0]).toBeGreaterThan(98); // accuracy
  expect(plain[1]).toBeLessThan(20); // recall
  expect(balanced[0]).toBeLessThan(plain[0]!);
  expect(balanced[1]).toBeGreaterThan(60);
});

test("an HTTP endpoint: one row, many rows with a gap, and a bad row", { timeout }, async () => {
  const output = await runExample("recipes/http-endpoint.ts");
  expect(numberIn(output, /R² on the test data: ([\d.]+)/)).toBeGreaterThan(0.7);
  expect(numberIn(output, /^200 \{"rent":([\d.]+)\}$/m)).toBeGreaterThan(800);
  expect(output).toMatch(/^200 \[\{"rent":[\d.]+\},\{"rent":[\d.]+\}\]$/m);
  expect(output).toMatch(/^400 .*"column":"area"/m);
});
