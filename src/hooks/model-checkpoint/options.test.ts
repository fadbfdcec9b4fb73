import { describe, expect, it } from "vitest";
import { OptionError } from "../../core/errors.ts";
import { modelCheckpoint } from "./model-checkpoint.ts";

describe("options", () => {
  it.each<[object, RegExp]>([
    [{ montior: "x" }, /modelCheckpoint: unknown option `montior`. Did you mean `monitor`\?/],
    [{ saveTopK: 1.5, monitor: "x" }, /Expected `saveTopK` to be a whole number ≥ -1, got `1.5`/],
    [{ saveTopK: 3 }, /`saveTopK` compares checkpoints by a metric: give `monitor`, or set `saveLast: 3`/],
    [{ mode: "max" }, /`mode` compares checkpoints by a metric: give `monitor`/],
    [{ mode: "best", monitor: "x" }, /Expected `mode` to be one of "min", "max", "auto"/],
    [{ saveLast: -1 }, /Expected `saveLast` to be true or false or a whole number ≥ 0/],
    [{ saveTotalLimit: 0 }, /Expected `saveTotalLimit` to be a whole number ≥ 1/],
    [{ every: "5 stepz" }, /unknown unit "stepz". Did you mean `steps`\?/],
    [{ every: 0 }, /Expected `every` to be a number > 0/],
    [{ every: { evry: 5 } }, /unknown option `evry`/],
    [{ every: 5, saveLast: false }, /`every` asks for checkpoints, but no rule would keep them/],
    [
      { every: { every: 5, atEnd: true }, atEnd: false },
      /`every.atEnd` asks for a save at the end, but `atEnd: false` forbids it/,
    ],
    [{ milestones: { every: 5, atEnd: true } }, /`milestones` has no `atEnd`/],
    [{ milestones: "often" }, /modelCheckpoint: milestones/],
    [{ filename: "{val/loss" }, /modelCheckpoint: filename: .*brace without its partner/],
    [{ filename: "" }, /Expected `filename` to be a non-empty string/],
    [{ autoInsertMetricName: false }, /`autoInsertMetricName` needs `filename`/],
    [{ format: "onnx" }, /Expected `format` to be one of "safetensors", "pt"/],
    [{ maxFailures: 0 }, /Expected `maxFailures` to be a whole number ≥ 1/],
  ])("%j", (options, message) => {
    expect(() => modelCheckpoint(options)).toThrow(OptionError);
    expect(() => modelCheckpoint(options)).toThrow(message);
  });
});
