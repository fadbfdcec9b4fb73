import { describe, expect, it, test } from "vitest";
import {
  type EvalProgress,
  type Part,
  type Progress,
  bar,
  endLines,
  evalEndLines,
  evalLine,
  fitted,
  liveLines,
  plainEnd,
  plainEvalEnd,
  plainEvalLine,
  plainLine,
} from "./lines.ts";
import { textWidth } from "../../terminal/width.ts";

describe("lines", () => {
  const style = { color: false, unicode: true };
  const progress: Progress = {
    epoch: 2,
    epochs: 6,
    step: 430,
    totalSteps: 2580,
    elapsed: 3.2,
    left: 15.1,
    secondsPerStep: 1 / 143,
    values: [
      ["loss", 0.21344],
      ["lr", 0.0019],
      ["val/loss", 0.31],
      ["val/accuracy", 0.96418],
    ],
    curve: [8, 4, 2, 1],
  };
  const evaluation: EvalProgress = { name: "val", batches: 12, total: 40, seconds: 2 };

  describe("live lines", () => {
    it("say how far and how well", () => {
      expect(liveLines(progress, evaluation, style, 100)).toEqual([
        "epoch 2/6  ━━━─────────────────  16%  step  430/2580  143 steps/s  0:03  eta 0:15",
        "  loss 0.2134  lr 0.0019  val/loss 0.3100  val/accuracy 96.42%  █▆▃▁",
        "  evaluating val  ━━━━━━──────────────  30%  batch 12/40  0:02",
      ]);
    });

    it("say tokens a second and the memory, where they are known", () => {
      const known = { ...progress, tokensPerSecond: 14_230, memory: 1.5 * 2 ** 30 };
      expect(liveLines(known, undefined, style, 120)[0]).toMatch(
        /143 steps\/s {2}14\.2k tokens\/s {2}1\.50 GiB {2}0:03/,
      );
      expect(plainLine(known)).toMatch(/143 steps\/s, 14\.2k tokens\/s, 1\.50 GiB, 0:03 elapsed/);
    });

    it("say that the engine compiles, if it takes long", () => {
      const first = { ...progress, values: [], curve: [] };
      expect(liveLines({ ...first, compiling: 12.7 }, undefined, style, 100)).toEqual([
        "epoch 2/6  ━━━─────────────────  16%  step  430/2580  143 steps/s  0:03  eta 0:15",
        "  compiling the program, 12 s",
      ]);
      expect(liveLines({ ...first, compiling: 1.9 }, undefined, style, 100)).toHaveLength(1);
    });

    it("are never wider than the terminal, whatever is in them", () => {
      const wide = {
        ...progress,
        values: [...progress.values, ["准确率", 0.5] as const, ["🚀/x".repeat(20), 1] as const],
      };
      for (const color of [false, true]) {
        for (let columns = 1; columns < 200; columns++) {
          const lines = liveLines(wide, evaluation, { color, unicode: columns % 2 === 0 }, columns);
          expect(lines.length).toBe(3);
          for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(Math.max(1, columns - 1));
        }
      }
    });

    it("keep what matters most where there is little room", () => {
      expect(liveLines(progress, undefined, style, 50)).toEqual([
        "2/6  ━╸────────  16%  step  430/2580  eta 0:15",
        "  loss 0.2134  lr 0.0019  val/loss 0.3100  █▆▃▁",
      ]);
      expect(liveLines(progress, undefined, style, 30)).toEqual([
        "16%  step  430/2580  eta 0:15",
        "  loss 0.2134  lr 0.0019",
      ]);
    });

    it("without a known end there is no bar, and no time left", () => {
      const open = { ...progress, totalSteps: undefined, left: undefined, epochs: undefined, values: [], curve: [] };
      expect(liveLines(open, { ...evaluation, total: undefined }, style, 80)).toEqual([
        "epoch 2  step 430  143 steps/s  0:03",
        "  evaluating val  batch 12  0:02",
      ]);
    });

    it("without Unicode there is no curve", () => {
      const [, line] = liveLines(progress, undefined, { color: false, unicode: false }, 120);
      expect(line).toBe("  loss 0.2134  lr 0.0019  val/loss 0.3100  val/accuracy 96.42%");
    });

    it("before anything is known", () => {
      const first = {
        ...progress,
        step: 0,
        left: undefined,
        secondsPerStep: undefined,
        elapsed: 0,
        values: [],
        curve: [],
      };
      expect(liveLines(first, undefined, style, 80)).toEqual([
        "epoch 2/6  ────────────────   0%  step    0/2580  0:00  eta -:--",
      ]);
    });

    it("a number that is none is red", () => {
      const bad = { ...progress, values: [["loss", Number.NaN] as const], curve: [] };
      const [, line] = liveLines(bad, undefined, { color: true, unicode: true }, 80);
      expect(line).toContain("\u001B[1m\u001B[31mNaN\u001B[39m\u001B[22m");
    });
  });

  test("plain lines have all of it, and nothing that a log could not keep", () => {
    expect(plainLine(progress)).toBe(
      "step 430/2580 (16%), epoch 2/6, 143 steps/s, 0:03 elapsed, 0:15 left, loss 0.2134, lr 0.0019, val/loss 0.3100, val/accuracy 96.42%",
    );
    expect(plainLine({ ...progress, totalSteps: undefined, secondsPerStep: undefined, values: [] })).toBe(
      "step 430, epoch 2/6, 0:03 elapsed",
    );
    expect(plainEvalLine(evaluation)).toBe("evaluating val: batch 12/40 (30%), 0:02");
    expect(plainEvalLine({ ...evaluation, total: undefined })).toBe("evaluating val: batch 12, 0:02");
    expect(plainEvalEnd(evaluation, [["val/loss", 0.5]])).toBe("evaluated val: 12 batches in 0:02, val/loss 0.5000");
    expect(plainEnd({ ...progress, values: [["loss", 1.5]] }, { status: "error", reason: "bad\nthings" })).toBe(
      "error at step 430, after 0:03 (bad), loss 1.500",
    );
  });

  describe("the last word", () => {
    const short = { ...progress, step: 2580, values: [["loss", 0.02134] as const] };

    it.each([
      ["completed", "✓ completed: why  2580 steps"],
      ["stopped", "■ stopped: why  2580 steps"],
      ["interrupted", "■ interrupted: why  2580 steps"],
      // It need not be done.
      ["error", "✗ error: why  step 2580/2580"],
    ])("on a run that is %s", (status, head) => {
      expect(endLines(short, { status, reason: "why" }, style, 100)).toEqual([
        `${head}  0:03  143 steps/s  loss 0.02134`,
      ]);
    });

    it("goes on below where it has no room, and cuts a long reason", () => {
      const lines = endLines(progress, { status: "error", reason: "x".repeat(500) }, style, 60);
      expect(lines).toEqual([
        `✗ error: ${"x".repeat(49)}…`,
        "  step 430/2580  0:03  143 steps/s  loss 0.2134  lr 0.0019",
        "  val/loss 0.3100  val/accuracy 96.42%",
      ]);
    });

    it("on an evaluation of its own", () => {
      expect(evalLine({ ...evaluation, total: undefined }, style, 60)).toBe("  evaluating val  batch 12  0:02");
      expect(evalEndLines(evaluation, [["test/loss", 0.5]], style, 60)).toEqual([
        "✓ val  12 batches  0:02  test/loss 0.5000",
      ]);
    });
  });
});

describe("bar", () => {
  const unicode = { color: false, unicode: true };
  const ascii = { color: false, unicode: false };

  test.each([
    [0, "──────────", "[          ]"],
    [0.04, "──────────", "[          ]"],
    [0.05, "╸─────────", "[          ]"],
    [0.5, "━━━━━─────", "[====>     ]"],
    [0.56, "━━━━━╸────", "[====>     ]"],
    [0.999, "━━━━━━━━━╸", "[========> ]"],
    [1, "━━━━━━━━━━", "[==========]"],
    [7, "━━━━━━━━━━", "[==========]"],
    [Number.NaN, "──────────", "[          ]"],
  ])("a share of %d", (share, drawn, plain) => {
    expect(bar(share, 10, unicode)).toBe(drawn);
    expect(bar(share, 12, ascii)).toBe(plain);
  });

  test("its colour changes when it is full", () => {
    expect(bar(0.5, 2, { color: true, unicode: true })).toBe("\u001B[36m━\u001B[39m\u001B[2m─\u001B[22m");
    expect(bar(1, 2, { color: true, unicode: true })).toBe("\u001B[32m━━\u001B[39m");
  });

  describe("a line that has no room for all", () => {
    const parts: Part[] = [
      { text: "epoch 1/3", worth: 2, shorter: ["1/3"] },
      { text: "", worth: 9 },
      { text: "step 5", worth: 3, shorter: ["5"] },
      { text: "0:01", worth: 1 },
    ];

    it.each([
      [23, "epoch 1/3  step 5  0:01"],
      [22, "epoch 1/3  step 5"],
      [16, "1/3  step 5"],
      [10, "step 5"],
      [5, "5"],
      [0, "5"],
    ])("in %i columns", (columns, line) => {
      expect(fitted(parts, columns)).toBe(line);
    });

    it("of equals drops the last", () => {
      const equal = ["a", "b", "c"].map((text) => ({ text, worth: 1 }));
      expect(fitted(equal, 4)).toBe("a  b");
      expect(fitted([], 4)).toBe("");
    });
  });
});
