import { afterEach, beforeEach, describe, expect, it, test, vi } from "vitest";
import { logRecord, runEnd, runFacts } from "../../../tests/support/logger-facts.ts";
import { terminal } from "../../terminal/terminal.ts";
import type { LogRecord, RunEnd } from "../../runs/types.ts";
import { type ConsoleOptions, Smoother, consoleLog } from "./console.ts";

let written = "";
let now = 0;
const write = (text: string): void => void (written += text);

beforeEach(() => {
  written = "";
  now = 0;
  vi.stubEnv("LC_ALL", "C.UTF-8");
  vi.stubEnv("TERM", "xterm");
  // Records come slowly: each is written at once.
  vi.spyOn(performance, "now").mockImplementation(() => (now += 100));
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const facts = runFacts({ name: "digits", totalSteps: 20 });
const end = runEnd({ reason: "2 epochs", step: 20, elapsed: 62 });

const record = (step: number, scalars: Record<string, number>): LogRecord => {
  const epoch = step <= 10 ? 0 : 1;
  return logRecord(step, { epoch, elapsed: step / 10, scalars: { ...scalars, epoch } });
};

const RECORDS = [
  record(5, { loss: 1.5, lr: 0.001 }),
  record(10, { loss: 0.75, lr: 0.001, "perf/stepsPerSec": 142.857 }),
  record(10, {
    loss: 0.75,
    lr: 0.001,
    "train/loss": 1.1,
    "train/accuracy": 0.61,
    "val/loss": 0.9,
    "val/accuracy": 0.7,
  }),
  record(15, { loss: Number.NaN, lr: 3e-4 }),
  record(20, { loss: 1e-9, lr: 3e-4, "val/loss": 0.8, "val/accuracy": 0.72 }),
];

async function run(options: ConsoleOptions, last: RunEnd = end, of = facts): Promise<string[]> {
  const backend = consoleLog({ write, color: false, ...options });
  await backend.open(of);
  for (const each of RECORDS) backend.log(each);
  await backend.close(last);
  return written.split("\n").slice(0, -1);
}

describe("plain", () => {
  it("is one line for each log, to be searched", async () => {
    expect(await run({})).toEqual([
      "step=5 epoch=1 loss=1.500 lr=0.001",
      "step=10 epoch=1 loss=0.7500 lr=0.001 perf/stepsPerSec=142.9",
      "step=10 epoch=1 loss=0.7500 lr=0.001 train/loss=1.100 train/accuracy=0.6100 val/loss=0.9000 val/accuracy=0.7000",
      "step=15 epoch=2 loss=NaN lr=3e-4",
      "step=20 epoch=2 loss=1e-9 lr=3e-4 val/loss=0.8000 val/accuracy=0.7200",
      'status=completed reason="2 epochs" step=20 elapsed=62.0',
    ]);
  });

  it("says where a run goes on", async () => {
    expect((await run({}, end, { ...facts, resumedAt: 4 }))[0]).toBe('run="digits" resumedAt=4');
  });
});

describe("columns", () => {
  it("for steps, and a line for each epoch and evaluation", async () => {
    expect(await run({ plain: false })).toEqual([
      "   step  epoch        loss          lr",
      "      5      1       1.500       0.001",
      "   step  epoch        loss          lr  perf/stepsPerSec",
      "     10      1      0.7500       0.001             142.9",
      "── epoch 1  train/loss 1.100  train/accuracy 61.00%  val/loss 0.9000  val/accuracy 70.00%  0:01",
      "     15      2         NaN        3e-4",
      "     20      2        1e-9        3e-4",
      "── step 20  val/loss 0.8000  val/accuracy 72.00%  0:02",
      "✓ completed after 20 steps in 1:02: 2 epochs",
    ]);
  });

  it.each([
    ["stopped", "■ stopped after 20 steps in 1:02: why"],
    ["interrupted", "■ interrupted after 20 steps in 1:02: why"],
    ["error", "✗ error at step 20, after 1:02: why"],
  ] as const)("end with what came of it: %s", async (status, last) => {
    const lines = await run({ plain: false }, { ...end, status, reason: "why\nnot" });
    expect(lines.at(-1)).toBe(last);
  });

  it("begin with where a run goes on", async () => {
    expect((await run({ plain: false }, end, { ...facts, resumedAt: 4 }))[0]).toBe("digits resumes from step 4");
  });

  it("of a prefix are columns too", async () => {
    const backend = consoleLog({ write, color: false, plain: false });
    backend.log(record(5, { "a/loss": 1, "a/lr": 2, "a/val/loss": 3, "a/epoch": 0 }));
    await backend.flush!();
    expect(written.split("\n")).toEqual([
      "   step  epoch      a/loss        a/lr",
      "      5      1           1           2",
      "── step 5  a/val/loss 3  0:01",
      "",
    ]);
  });
});

it("shows what is chosen", async () => {
  expect(await run({ metrics: ["loss", "val/acc*"], plain: false })).toEqual([
    "   step  epoch        loss",
    "      5      1       1.500",
    "     10      1      0.7500",
    "── step 10  val/accuracy 70.00%  0:01",
    "     15      2         NaN",
    "     20      2        1e-9",
    "── step 20  val/accuracy 72.00%  0:02",
    "✓ completed after 20 steps in 1:02: 2 epochs",
  ]);
  written = "";
  expect(await run({ metrics: "val/*" })).toHaveLength(3);
});

it("smooths, and says so", async () => {
  const lines = await run({ metrics: "loss", smoothing: { loss: 0.5 } });
  expect(lines[1]).toBe("step=10 epoch=1 ~loss=1");
});

it("what is not a number is red", async () => {
  expect((await run({ color: true }))[3]).toContain("\u001B[31mloss=NaN\u001B[39m");
});

it("lines that come fast are written together, in order, and none is lost", async () => {
  vi.spyOn(performance, "now").mockImplementation(() => now);
  const writes: string[] = [];
  const backend = consoleLog({ write: (text) => void writes.push(text) });
  for (let step = 1; step <= 100; step++) backend.log(record(step, { loss: 1 }));
  expect(writes).toHaveLength(1);
  await expect.poll(() => writes.length).toBe(2);
  backend.log(record(101, { loss: 1 }));
  await backend.close(end);
  const steps = writes.join("").match(/^step=\d+/gm);
  expect(steps).toEqual(Array.from({ length: 101 }, (_, i) => `step=${i + 1}`));
});

it("lines that cannot be written later are one warning, and the next ones are tried", async () => {
  vi.spyOn(performance, "now").mockImplementation(() => now);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const warnings: string[] = [];
  let isBroken = false;
  const backend = consoleLog({
    write(text) {
      if (isBroken) throw new Error("EPIPE");
      write(text);
    },
  });
  await backend.open(facts, (message) => void warnings.push(message));
  backend.log(record(1, { loss: 1 }));
  isBroken = true;
  for (const step of [2, 3]) {
    backend.log(record(step, { loss: 1 }));
    // Here an error would come out; in a process it would end it.
    vi.runAllTimers();
  }
  isBroken = false;
  backend.log(record(4, { loss: 1 }));
  vi.runAllTimers();
  vi.useRealTimers();
  expect(written.match(/^step=\d+/gm)).toEqual(["step=1", "step=4"]);
  expect(warnings).toEqual(["EPIPE"]);
});

it("leaves the last word to a progress bar, and none to an evaluation on its own", async () => {
  const out: string[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => out.push(String(text)) > 0);
  const backend = consoleLog({ quiet: false });
  const undo = terminal()!.announce();
  await backend.close(end);
  undo();
  await backend.close({ ...end, reason: "" });
  expect(out).toEqual([]);
  await backend.close(end);
  expect(out.join("")).toContain("completed");
});

it("leaves it to the bar of a training that an evaluation has followed, too", async () => {
  const out: string[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => out.push(String(text)) > 0);
  const backend = consoleLog({ quiet: false });
  await backend.open(facts);
  const undo = terminal()!.announce();
  await backend.flush!();
  undo();
  await backend.close(end);
  expect(out).toEqual([]);
  await backend.open(facts);
  await backend.close(end);
  expect(out.join("")).toContain("completed");
});

it("is silent where that is asked for", async () => {
  expect(await run({ quiet: true })).toEqual([]);
  vi.stubEnv("HOOKLINE_QUIET", "1");
  expect(await run({})).toEqual([]);
});

it("in a browser goes to the console", async () => {
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  vi.stubGlobal("process", undefined);
  const backend = consoleLog();
  vi.unstubAllGlobals();
  backend.log(record(1, { loss: 1 }));
  await backend.flush!();
  expect(log.mock.calls).toEqual([["step=1 epoch=1 loss=1"]]);
});

it("options are checked", () => {
  expect(() => consoleLog({ metric: "loss" } as ConsoleOptions)).toThrow(/Did you mean `metrics`\?/);
  expect(() => consoleLog({ smoothing: { loss: 1 } })).toThrow(
    /Expected `smoothing.loss` to be a number from 0 up to 1/,
  );
});

test("the mean begins with the first value, and follows", () => {
  const smoother = new Smoother({ loss: 0.9 });
  expect(smoother.next("loss", 10)).toBeCloseTo(10);
  // Weights 0.09 and 0.1 of what there is.
  expect(smoother.next("loss", 0)).toBeCloseTo((10 * 0.09) / 0.19);
  for (let i = 0; i < 200; i++) smoother.next("loss", 3);
  expect(smoother.next("loss", 3)).toBeCloseTo(3);
});

test("what is not a number shows, and is forgotten", () => {
  const smoother = new Smoother({ loss: 0.5 });
  smoother.next("loss", 2);
  expect(smoother.next("loss", Number.NaN)).toBeNaN();
  expect(smoother.next("loss", 2)).toBeCloseTo(2);
});

test("others stay as they are, and each run begins anew", () => {
  const smoother = new Smoother({ loss: 0.5 });
  expect([smoother.next("lr", 1), smoother.next("lr", 5), smoother.smooths("lr")]).toEqual([1, 5, false]);
  smoother.next("loss", 100);
  smoother.clear();
  expect(smoother.next("loss", 1)).toBe(1);
});
