// The examples run, and show what they promise. In their short form they learn less, so the bounds are far from what
// they reach in full, and far from chance.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readWeights } from "hookline/checkpoint";
import { afterAll, expect, test } from "vitest";
import { numberIn, runExample } from "./run-example.ts";

const examples = fileURLToPath(new URL("../../examples/", import.meta.url));
const dir = mkdtempSync(join(tmpdir(), "hookline-examples-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const timeout = 600_000; // each takes a few seconds of one core; it may have to share it

test("digits-cnn reads digits, and says which it takes for which", { timeout }, async () => {
  const output = await runExample("digits-cnn.ts");
  expect(output).toContain("61,706 parameters");
  expect(numberIn(output, /test accuracy: ([\d.]+) %/)).toBeGreaterThan(45);
  expect(output).toMatch(/most often misread: \d as \d \(\d+\), /);
});

test("char-gpt writes as it learns", { timeout }, async () => {
  const output = await runExample("char-gpt.ts");
  expect(output).toContain("22456 plots, 5480537 letters, 32 different ones");
  const samples = [...output.matchAll(/after (\d+) steps: (a young [a-z .,'\n-]{25})\n/g)];
  expect(samples.map(([, step]) => step)).toEqual(["12", "24", "36", "48", "60"]);
  // 32 letters to choose from at the start; how often each occurs brings it to about 17.
  expect(numberIn(output, /\nperplexity (\d+\.\d+)\./)).toBeLessThan(15);
  expect(output).toMatch(/- the story of [a-z .,'\n-]{20}\n/);
});

test("regression: each loss is logged, and the change of loss shows", { timeout }, async () => {
  const output = await runExample("regression.ts");
  const rows = [...output.matchAll(/^ +(\d+)((?: +[\d.]+){5})$/gm)].map(([, epoch, values]) => {
    const [loss, squared, robust, over, metres] = values!.trim().split(/ +/).map(Number);
    return { epoch: Number(epoch), loss: loss!, squared: squared!, robust: robust!, over: over!, metres: metres! };
  });
  expect(rows.map(({ epoch }) => epoch)).toEqual([1, 2, 3, 4, 5, 6]);
  const [first, last] = [rows[0]!, rows.at(-1)!];
  expect(first.loss).toBeCloseTo(2 * first.squared + first.over, 2);
  expect(last.loss).toBeCloseTo(2 * last.robust + last.over, 2);
  expect(output).toMatch(/lossSchedule at step 150: setLoss\(withRobust\)/);
  expect(last.metres).toBeLessThan(rows[2]!.metres);
  expect(numberIn(output, /off by ([\d.]+) m/)).toBeCloseTo(last.metres, 1);
});

test("custom-step: own step, then Adam's, with the gradients of both", { timeout }, async () => {
  const output = await runExample("custom-step.ts");
  expect(output).toMatch(/^fused: one program/);
  expect(output.match(/^step \d+, loss/gm)).toEqual([
    "step 100, loss",
    "step 200, loss",
    "step 300, loss",
    "step 400, loss",
  ]);
  expect(numberIn(output, /gradient of 0\.weight: norm ([\d.]+), nine in ten from -[\d.]+ to [\d.]+/)).toBeGreaterThan(
    0,
  );
  expect(output).toContain("signFirst, trainBegin of step 0: setUpdate(signStep), because: coarse work");
  expect(output).toMatch(/signFirst, epochEnd of step \d+: setUpdate\(null\), because: train\/loss is 0\.1/);
  expect(numberIn(output, /accuracy: ([\d.]+) %/)).toBeGreaterThan(90);
});

test("multi-loader: every mix gives its sources what it says", { timeout }, async () => {
  const output = await runExample("multi-loader.ts");
  const rows = new Map(
    output
      .split("\n")
      .slice(1, 7)
      .map((line) => {
        const numbers = line
          .slice(34)
          .match(/[\d.]+/g)!
          .map(Number);
        const [steps, black, , white, , onBlack, onWhite] = numbers;
        return [
          line.slice(0, 34).trim(),
          { steps, black: black!, white: white!, onBlack: onBlack!, onWhite: onWhite! },
        ];
      }),
  );
  expect(rows.get("sequential")).toMatchObject({ steps: 189, black: 50, white: 13 });
  expect(rows.get('roundRobin, length "max"')).toMatchObject({ black: 50, white: 49 });
  const weighted = rows.get("weighted, 1 : 1")!;
  expect(weighted.black + weighted.white).toBe(50);
  // The smaller source is learned better when it comes as often as the larger one.
  expect(rows.get('roundRobin, length "max"')!.onWhite).toBeGreaterThan(rows.get("roundRobin")!.onWhite + 5);
  for (const { onBlack } of rows.values()) expect(onBlack).toBeGreaterThan(40);
});

const python = "/usr/bin/python3";
const torch = spawnSync(python, ["-c", "import torch"]).status === 0;
if (!torch) console.warn("fine-tune-torch is not checked in PyTorch: apt-get install python3-torch");

test("fine-tune-torch: from PyTorch's weights to PyTorch's weights", { timeout }, async () => {
  const file = join(dir, "new", "tuned.pt");
  const output = await runExample("fine-tune-torch.ts", file);
  expect(output).toContain("not in the file head.weight, head.bias; not wanted classifier.weight, classifier.bias");
  const tuned = numberIn(output, /trunk frozen.*test accuracy ([\d.]+) %/);
  expect(tuned).toBeGreaterThan(numberIn(output, /from scratch.*test accuracy ([\d.]+) %/) + 2);

  const before = await readWeights(join(examples, "fine-tune-torch.pt"));
  const after = await readWeights(file);
  expect(after["classifier.weight"]!.shape).toEqual([2, 24]);
  for (const name of Object.keys(after).filter((name) => name.startsWith("features."))) {
    expect(after[name]).toEqual(before[`net.${name}`]); // frozen, bit for bit
  }
  if (!torch) return;
  const there = spawnSync(python, [join(examples, "fine-tune-torch.py"), file], {
    env: { ...process.env, OMP_NUM_THREADS: "1" },
    encoding: "utf8",
  });
  // All of the test set there, the first 500 images here.
  expect(Math.abs(numberIn(there.stdout + there.stderr, /in PyTorch: test accuracy ([\d.]+) %/) - tuned)).toBeLessThan(
    6,
  );
});

test("README.md names every example", () => {
  const table = readFileSync(join(examples, "README.md"), "utf8");
  const files = readdirSync(examples).filter((name) => name.endsWith(".ts"));
  expect(files.filter((name) => !table.includes(`examples/${name}`))).toEqual([]);
});
