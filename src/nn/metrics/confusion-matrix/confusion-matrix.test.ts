import { describe, expect, it } from "vitest";
import type { Media } from "../../../core/media.ts";
import type { Figure, Tensor } from "../../../core/model.ts";
import { DataLoader } from "../../../data/data-loader.ts";
import { logger } from "../../../hooks/logger/logger.ts";
import { progressBar } from "../../../hooks/progress-bar/progress-bar.ts";
import type { LoggerBackend } from "../../../loggers/backend.ts";
import { tinyTrainer, type TinyOptions } from "../../../testing/tiny.ts";
import { confusionMatrix } from "./confusion-matrix.ts";
import { drawMatrix } from "./matrix-image.ts";
import { matrixText } from "./matrix-text.ts";
import { glyphRows } from "./tiny-font.ts";

const names = ["cat", "dog", "a very long name of an owl"];
/** Two cats, one of them taken for a dog; one dog; three owls, of which two are taken for cats. */
const outputs = [
  [1, 0, 0],
  [0, 1, 0],
  [0, 1, 0],
  [1, 0, 0],
  [1, 0, 0],
  [0, 0, 1],
];
const data = {
  x: { data: Float32Array.from(outputs.flat()), shape: [6, 3] },
  y: Int32Array.of(0, 0, 1, 2, 2, 2),
};
const loader = () => new DataLoader(data, { batchSize: 4 });

const trainer = (options: TinyOptions = {}) =>
  tinyTrainer({
    model: { init: () => ({ unused: { data: new Float32Array(1), shape: [1] } }), apply: (_, x: Tensor) => x },
    loss: (x) => (x as Tensor).mean(),
    metrics: { confusion: confusionMatrix({ names }) },
    train: loader(),
    ...options,
  });

const TABLE = [
  "actual            cat  dog  a very long nam…",
  "cat                 1    1                 0",
  "dog                 0    1                 0",
  "a very long nam…    2    0                 1",
];

it("counts, and shows the counts to hooks", async () => {
  let figures: Readonly<Record<string, Figure>> = {};
  const values = await trainer({
    hooks: [{ name: "look", onEvalEnd: (ctx) => void (figures = ctx.figures) }],
  }).evaluate(loader());
  // It has no value of its own.
  expect(Object.keys(values)).toEqual(["test/loss"]);
  const { data: counts, text } = figures["test/confusion"]!;
  expect([...counts.data]).toEqual([1, 1, 0, 0, 1, 0, 2, 0, 1]);
  expect(text.split("\n")).toEqual(["predicted".padStart(TABLE[0]!.length), ...TABLE]);
});

it("is drawn by the progress bar after a standalone evaluation, and once at the end of a run", async () => {
  const written: string[] = [];
  const own = trainer({ eval: loader(), epochs: 3, hooks: [progressBar({ write: (text) => written.push(text) })] });
  await own.fit();
  const lines = () => written.join("").split("\n");
  expect(lines().filter((line) => line === "val/confusion")).toHaveLength(1);
  expect(lines().slice(-5, -1)).toEqual(TABLE);
  expect(lines().findIndex((line) => line.startsWith("completed"))).toBeLessThan(lines().indexOf("val/confusion"));
  written.length = 0;
  await own.evaluate(loader());
  expect(lines().slice(-5, -1)).toEqual(TABLE);
  expect(lines()).toContain("test/confusion");
});

it("reaches loggers as an image at every evaluation", async () => {
  const seen: [number, string, Media][] = [];
  const backend: LoggerBackend = {
    name: "seen",
    open() {},
    log: ({ step, media }) =>
      seen.push(...Object.entries(media).map(([title, each]) => [step, title, each] as [number, string, Media])),
    close() {},
  };
  await trainer({ eval: loader(), epochs: 2, hooks: [logger(backend)] }).fit();
  expect(seen.map(([step, title, { kind }]) => [step, title, kind])).toEqual([
    [2, "val/confusion", "image"],
    [4, "val/confusion", "image"],
  ]);
});

describe("the drawing", () => {
  const matrix = (size: number) => ({
    counts: {
      data: Float64Array.from({ length: size * size }, (_, i) => (i % (size + 1) === 0 ? 900 : i % 7)),
      shape: [size, size],
    },
    names: Array.from({ length: size }, (_, i) => `class ${i}`),
  });

  it("of many classes lists the most frequent mistakes", () => {
    const { counts, names: classes } = matrix(40);
    counts.data[40 * 3 + 8] = 77;
    const [head, first, ...others] = matrixText({ counts, names: classes }).split("\n");
    expect(head).toMatch(/^40 classes, \d+ of \d+ wrong; most often:$/);
    expect(first).toBe("class 3 taken for class 8: 77");
    expect(others).toHaveLength(9);
  });

  it("shows weighted counts with a decimal, and no control characters of names", () => {
    const text = matrixText({
      counts: { data: Float64Array.of(0.25, 1, 2, 3), shape: [2, 2] },
      names: ["a\u001b[31m", "b"],
    });
    expect(text).toContain("0.3");
    expect(text).not.toContain("\u001b");
  });

  it("is darker where more of a class is, and as large as it says", () => {
    for (const size of [2, 24, 25, 300]) {
      const { width, height, channels, pixels } = drawMatrix(matrix(size));
      expect(pixels).toHaveLength(width * height * channels);
    }
    const { width, pixels } = drawMatrix({
      counts: { data: Float64Array.of(9, 1, 0, 10), shape: [2, 2] },
      names: ["A", "B"],
    });
    const red = (x: number, y: number): number => pixels[3 * (y * width + x)]!;
    const left = width - 2 * 48;
    expect(red(left + 2, 24 + 2)).toBeLessThan(60);
    expect(red(left + 48 + 2, 24 + 2)).toBeGreaterThan(200);
  });

  it("has letters of three by five pixels", () => {
    const drawn = glyphRows("t").map((row) => row.map((isInk) => (isInk ? "#" : ".")).join(""));
    expect(drawn).toEqual(["###", ".#.", ".#.", ".#.", ".#."]);
    expect(glyphRows("€")).toEqual(glyphRows("?"));
  });
});
