// Signals to a process with an experiment, and an AbortSignal: whatever it is doing, it ends in time and keeps what is complete.
import type { Hook } from "hookline";
import { describe, expect, it } from "vitest";
import type { ExperimentChildOptions, ExperimentNote } from "../process/experiment-child.ts";
import { startNoting } from "../support/noting-child.ts";
import { tinyExperiment } from "../support/tiny-experiment.ts";
import { tinyData } from "hookline/testing";
import { compiled } from "../support/programs.ts";

const script = compiled(new URL("../process/experiment-child.ts", import.meta.url));
const start = (options: ExperimentChildOptions) => startNoting<ExperimentNote>([script, JSON.stringify(options)]);

describe("a signal", () => {
  it.each([
    ["reading", "SIGINT", 130, []],
    ["busy reading", "SIGTERM", 143, []],
    ["between models", "SIGINT", 130, ["first"]],
    ["training", "SIGTERM", 143, ["first"]],
  ] as const)("while %s ends the experiment: %s, exit code %i", async (slow, name, code, models) => {
    const child = start({ slow });
    await child.until("begun");
    child.signal(name);
    expect(await child.until("result")).toEqual({ note: "result", status: "interrupted", reason: name, models });
    expect(await child.exit).toMatchObject({ code, signal: null });
  });
});

describe("an AbortSignal", () => {
  it("that has come already lets nothing begin", async () => {
    let read = false;
    const data = () => {
      read = true;
      return tinyData(16);
    };
    const result = await tinyExperiment({ data }).run({ signal: AbortSignal.abort() });
    expect(result).toMatchObject({ status: "interrupted", reason: "aborted", requestedBy: "AbortSignal", models: {} });
    expect(read).toBe(false);
  });

  it("ends a reading that never ends, whose failure later on is nobody's business", async () => {
    const controller = new AbortController();
    let fail: (error: Error) => void = () => undefined;
    const data = () => {
      queueMicrotask(() => controller.abort());
      return new Promise<never>((_, reject) => void (fail = reject));
    };
    const result = await tinyExperiment({ data }).run({ signal: controller.signal });
    expect(result.status).toBe("interrupted");
    fail(new Error("too late"));
  });

  it("in the last event of a model lets the next one not begin", async () => {
    const controller = new AbortController();
    const aborter: Hook = { name: "aborter", onEvaluationComplete: () => controller.abort("enough") };
    const result = await tinyExperiment({ hooks: [aborter], models: { a: {}, b: {} } }).run({
      signal: controller.signal,
    });
    expect(result).toMatchObject({ status: "interrupted", reason: "aborted: enough" });
    expect(Object.keys(result.models)).toEqual(["a"]);
  });
});
