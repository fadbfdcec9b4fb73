// The trace file: what is in it, how it nests, and that it can be read whatever happened.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Hook } from "hookline";
import { DataLoader } from "hookline/data";
import { tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { timeline, type TimelineOptions } from "./timeline.ts";

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly ts: number;
  readonly dur: number;
  readonly tid: number;
  readonly args: Readonly<Record<string, unknown>>;
}

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "hookline-"));
  file = join(folder, "sub/trace.json");
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

const read = (): TraceEvent[] => JSON.parse(readFileSync(file, "utf8")) as TraceEvent[];
const named = (name: string): TraceEvent[] => read().filter((event) => event.ph === "X" && event.name === name);
const inside = (inner: TraceEvent, outer: TraceEvent): boolean =>
  inner.ts >= outer.ts - 1 && inner.ts + inner.dur <= outer.ts + outer.dur + 1;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const slow: Hook = {
  name: "slow",
  onStepBegin: () => sleep(4),
  onBatchBegin: () => sleep(8),
  onStepEnd: () => sleep(4),
};

const train = (options: Partial<TimelineOptions> = {}, more: TinyOptions = {}) => {
  const { hooks = [], ...rest } = more;
  return tinyTrainer({
    hooks: [timeline({ file, ...options }), ...hooks],
    eval: new DataLoader(tinyData(4), { batchSize: 4 }),
    ...rest,
  });
};

describe("timeline", () => {
  it("holds epochs, steps, waits for data, evaluations and every call of a hook, properly nested", async () => {
    await train({}, { epochs: 2, hooks: [slow] }).fit();
    const epochs = named("epoch");
    const steps = named("step");
    const waits = named("data wait");
    expect(epochs.map(({ args }) => args["epoch"])).toEqual([0, 1]);
    expect(steps.map(({ args }) => args["step"])).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(waits).toHaveLength(8);
    expect(named("eval").map(({ args }) => args["loader"])).toEqual(["val", "val"]);
    expect(named("slow")).toHaveLength(3 * 8);
    for (const [i, step] of steps.entries()) {
      expect(inside(step, epochs[i < 4 ? 0 : 1]!)).toBe(true);
      expect(inside(waits[i]!, step)).toBe(true);
      for (const call of named("slow").slice(3 * i, 3 * i + 3)) {
        expect(inside(call, step)).toBe(true);
        expect(call.dur).toBeGreaterThan(3000);
      }
      // The hook's time at batchBegin is not time spent waiting for data. Typically: a busy machine may stop anyone.
      const typical = waits.map(({ dur }) => dur).sort((a, b) => a - b)[4]!;
      expect(typical).toBeLessThan(7000);
    }
    const tracks = read().filter(({ name }) => name === "thread_name");
    expect(tracks.map(({ tid, args }) => [tid, args["name"]])).toEqual([
      [1, "loop"],
      [2, "hooks"],
    ]);
    expect(steps[0]!.tid).toBe(1);
    expect(named("slow")[0]!.tid).toBe(2);
  });

  it("leaves the plan of the step alone", () => {
    const trainer = train();
    expect(trainer.explainPlan()).toMatch(/^fused/);
  });

  it("records from one step until another, and measures only then", async () => {
    const quick: Hook = { name: "quick", onStepEnd() {}, onEvalEnd() {} };
    const result = await train({ from: 3, until: 5 }, { steps: 40, hooks: [quick] }).fit();
    expect(named("step").map(({ args }) => args["step"])).toEqual([3, 4, 5]);
    expect(named("quick").filter(({ args }) => args["event"] === "stepEnd")).toHaveLength(3);
    // The evaluation after step 4 lies between.
    expect(named("eval")).toHaveLength(1);
    expect(result.status).toBe("completed");
  });

  it("goes on in the same file, on the same clock, in a second fit", async () => {
    const trainer = train();
    await trainer.fit();
    const first = named("step");
    await trainer.fit({ epochs: 2 });
    const steps = named("step");
    expect(steps.map(({ args }) => args["step"])).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(steps.slice(0, 4)).toEqual(first);
    expect(steps[4]!.ts).toBeGreaterThan(first[3]!.ts + first[3]!.dur);
    expect(read().filter(({ ph }) => ph === "M")).toHaveLength(3);
  });

  it("shows the step in which a run failed, in a file that is whole", async () => {
    const failing: Hook = {
      name: "failing",
      onBatchBegin({ step }) {
        if (step === 3) throw new Error("as planned");
      },
    };
    await expect(train({}, { hooks: [failing] }).fit()).rejects.toThrow("as planned");
    const steps = named("step");
    expect(steps.map(({ args }) => args)).toEqual([{ step: 1 }, { step: 2 }, { cutOff: true }]);
    expect(named("epoch")).toMatchObject([{ args: { cutOff: true } }]);
  });

  it("can be read while the run goes on: only the bracket is missing", async () => {
    let text = "";
    const trainer = train({}, { epochs: 1000, maxTime: 1600 });
    trainer.on("epochEnd", () => {
      if (text === "")
        text = existsSync(file) && readFileSync(file, "utf8").includes('"step"') ? readFileSync(file, "utf8") : "";
    });
    await trainer.fit();
    expect(text).toMatch(/^\[\n\{/);
    const events = JSON.parse(`${text}]`) as TraceEvent[];
    expect(events.some(({ name }) => name === "step")).toBe(true);
    expect(events.length).toBeLessThan(read().length);
  });

  it("keeps little in memory, however much it writes", async () => {
    const trainer = train({}, { steps: 3000, hooks: [{ name: 'ünïcode "quoted"', onStepEnd() {} }] });
    await trainer.fit();
    expect(named("step")).toHaveLength(3000);
    expect(named('ünïcode "quoted"')).toHaveLength(3000);
  });

  it("is a warning where the file cannot be written, and the run goes on", async () => {
    writeFileSync(join(folder, "sub"), "");
    const warnings: string[] = [];
    const result = await train({}, { warn: (message) => void warnings.push(message) }).fit();
    expect(result.status).toBe("completed");
    expect(warnings).toEqual([expect.stringMatching(/`timeline` failed in `trainBegin`.*(ENOTDIR|EEXIST)/)]);
  });

  it("stays away from evaluate()", async () => {
    await train().evaluate(new DataLoader(tinyData(4), { batchSize: 4 }));
    expect(existsSync(file)).toBe(false);
  });

  it.each([
    [{}, /missing option `file`/],
    [{ file: "x", form: 3 }, /unknown option `form`. Did you mean `from`\?/],
    [{ file: "x", from: 0 }, /Expected `from` to be a whole number ≥ 1/],
  ])("refuses %o", (options, message) => {
    expect(() => timeline(options as TimelineOptions)).toThrow(message);
  });
});
