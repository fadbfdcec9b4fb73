// A synchronous run does not shut the program out: an AbortSignal ends it, timers tick and files are read meanwhile.
import { readFile } from "node:fs/promises";
import type { Hook } from "hookline";
import { DataLoader } from "hookline/data";
import { recordTrace, tinyData, tinyTrainer } from "hookline/testing";
import { describe, expect, it, onTestFinished } from "vitest";

/** Milliseconds that each step takes, all of it in one synchronous piece. */
const STEP = 6;
const spin = (ms: number): void => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};
const busy: Hook = { name: "busy", onStepEnd: () => spin(STEP), onEvalBatchEnd: () => spin(STEP) };
const LONG = 1_000_000;

describe("an AbortSignal", () => {
  it("that is aborted before the start ends the run before its first step", async () => {
    const trace = recordTrace({ events: ["init", "trainBegin", "stepBegin", "trainEnd", "close"] });
    const result = await tinyTrainer({ hooks: [trace] }).fit({ signal: AbortSignal.abort() });
    expect(result).toMatchObject({ status: "interrupted", reason: "aborted", requestedBy: "AbortSignal", steps: 0 });
    expect(trace.names()).toEqual(["init", "trainBegin", "trainEnd", "close"]);
  });

  it("ends the run after the step in which a hook aborts", async () => {
    const controller = new AbortController();
    const trace = recordTrace({ events: ["stepEnd", "epochEnd", "trainEnd"] });
    const atFive: Hook = { name: "atFive", onStepBegin: ({ step }) => void (step === 5 && controller.abort("enough")) };
    const result = await tinyTrainer({ epochs: LONG, hooks: [trace, atFive] }).fit({ signal: controller.signal });
    expect(result).toMatchObject({ status: "interrupted", reason: "aborted: enough", steps: 5 });
    expect(trace.names()).toEqual([
      ...Array.from({ length: 4 }, () => "stepEnd"),
      "epochEnd",
      "stepEnd",
      "epochEnd",
      "trainEnd",
    ]);
    expect(trace.entries.at(-2)!.fields).toMatchObject({ partial: true });
    expect(trace.entries.at(-1)!.fields).toMatchObject({ status: "interrupted", requestedBy: "AbortSignal" });
  });

  it("is heard after the step at hand when a timer aborts", async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 100);
    let begun = 0;
    const counting: Hook = { name: "counting", onStepBegin: () => void (controller.signal.aborted && begun++) };
    const result = await tinyTrainer({ epochs: LONG, hooks: [busy, counting] }).fit({ signal: controller.signal });
    expect(result).toMatchObject({ status: "interrupted", reason: "aborted" });
    // The step at hand is finished, and no other begins.
    expect(begun).toBe(0);
  });

  it("names a time-out as what it is", async () => {
    const result = await tinyTrainer({ epochs: LONG, hooks: [busy] }).fit({ signal: AbortSignal.timeout(60) });
    expect(result.status).toBe("interrupted");
    expect(result.reason).toMatch(/timeout/i);
  });

  it("ends an evaluation in the middle", async () => {
    const controller = new AbortController();
    const trace = recordTrace({ events: ["evalEnd", "epochEnd", "stepBegin"] });
    const evaluation: Hook = {
      name: "third",
      onEvalBatchEnd: ({ batchIdx }) => void (batchIdx === 2 && controller.abort()),
    };
    const result = await tinyTrainer({
      hooks: [evaluation, trace],
      eval: new DataLoader(tinyData(40), { batchSize: 4 }),
      evalAtStart: true,
    }).fit({ signal: controller.signal });
    expect(result).toMatchObject({ status: "interrupted", steps: 0, metrics: {} });
    expect(trace.names()).toEqual(["evalEnd"]);
    expect(trace.entries[0]!.fields).toMatchObject({ partial: true });
  });

  it("leaves the trainer able to go on", async () => {
    const controller = new AbortController();
    const trainer = tinyTrainer({ steps: 10 });
    trainer.on("stepEnd", { at: [3] }, () => controller.abort());
    expect(await trainer.fit({ signal: controller.signal })).toMatchObject({ status: "interrupted", steps: 3 });
    expect(await trainer.fit()).toMatchObject({ status: "completed", steps: 10 });
  });
});

describe("timers and files", () => {
  it("are served during the run, at least every 50 ms and a step", async () => {
    let steps = 0;
    /** Steps between two turns of the timer. */
    const gaps: number[] = [];
    let text = "";
    const controller = new AbortController();
    const timer = setInterval(() => {
      gaps.push(steps);
      steps = 0;
      // The run ends only because both were served during it.
      if (text !== "" && gaps.length >= 20) controller.abort();
    }, 10);
    onTestFinished(() => clearInterval(timer));
    const reading = readFile(new URL(import.meta.url), "utf8").then((read) => void (text = read));
    const counting: Hook = { name: "counting", onStepEnd: () => void steps++ };
    const run = tinyTrainer({ epochs: LONG, hooks: [busy, counting] }).fit({ signal: controller.signal });
    expect(await run).toMatchObject({ status: "interrupted" });
    await reading;
    expect(text).toContain("are served during the run");
    // A step takes at least so long, also on a fast machine; a slow one does fewer of them in that time.
    expect(Math.max(...gaps)).toBeLessThanOrEqual(Math.ceil(50 / STEP) + 1);
  });

  it("are served as often as `yieldEvery` says", async () => {
    const count = async (yieldEvery: number): Promise<{ ticks: number; steps: number; elapsed: number }> => {
      let ticks = 0;
      const timer = setInterval(() => ticks++, 1);
      const began = performance.now();
      const { steps } = await tinyTrainer({ epochs: LONG, maxTime: 300, yieldEvery, hooks: [busy] }).fit();
      clearInterval(timer);
      return { ticks, steps, elapsed: performance.now() - began };
    };
    const [always, seldom] = [await count(0), await count(200)];
    // Before the first step and after the last one there are some more.
    expect(seldom.ticks).toBeLessThan(seldom.elapsed / 200 + 5);
    expect(always.ticks).toBeGreaterThanOrEqual(always.steps - 1);
  });

  it("are served between the batches of evaluate()", async () => {
    const trainer = tinyTrainer({ hooks: [busy] });
    const loader = new DataLoader(tinyData(200), { batchSize: 4 });
    let ticks = 0;
    const timer = setInterval(() => ticks++, 10);
    onTestFinished(() => clearInterval(timer));
    await trainer.evaluate(loader);
    expect(ticks).toBeGreaterThan(2);
  });
});
