// What the bar reads and when, and what it shows as plain lines. How it looks on a terminal: tests/terminal.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { countingEngine } from "../../../tests/support/engines.ts";
import { DataLoader } from "../../data/data-loader.ts";
import { testContext, tinyData, tinyTrainer } from "../../testing/index.ts";
import type { Hook } from "../../core/hook.ts";
import { progressBar, type ProgressBarOptions } from "./progress-bar.ts";
import { terminal } from "../../terminal/terminal.ts";

let now = 0;
let written: string[] = [];
const write = (text: string): void => void written.push(text);

beforeEach(() => {
  now = 1000;
  written = [];
});
afterEach(() => vi.restoreAllMocks());

const fakeClock = (): unknown => vi.spyOn(performance, "now").mockImplementation(() => now);

/** A trainer whose steps take 0.1 s on a clock of our own. */
function timedTrainer(options: ProgressBarOptions, more: Parameters<typeof tinyTrainer>[0] = {}) {
  fakeClock();
  const tick: Hook = { name: "tick", onStepBegin: () => void (now += 100), onEvalBatchBegin: () => void (now += 50) };
  return tinyTrainer({ ...more, hooks: [tick, progressBar({ write, ...options }), ...(more.hooks ?? [])] });
}

describe("plain lines", () => {
  it("come with the first step, now and then, at the end of an epoch, and at the end", async () => {
    const eval_ = new DataLoader(tinyData(8), { batchSize: 4 });
    await timedTrainer({ plainEvery: 1, metrics: ["val/*"] }, { samples: 64, epochs: 2, eval: eval_ }).fit();
    expect(written.map((line) => line.replaceAll(/val\/loss [\d.e-]+/g, "val/loss X"))).toEqual([
      "step 1/32 (3%), epoch 1/2, 0:00 elapsed\n",
      "step 11/32 (34%), epoch 1/2, 10.0 steps/s, 0:01 elapsed, 0:02 left\n",
      "step 16/32 (50%), epoch 1/2, 10.0 steps/s, 0:02 elapsed, 0:02 left, val/loss X\n",
      "step 25/32 (78%), epoch 2/2, 10.0 steps/s, 0:03 elapsed, 0:01 left, val/loss X\n",
      "step 32/32 (100%), epoch 2/2, 10.0 steps/s, 0:03 elapsed, 0:00 left, val/loss X\n",
      "completed after 32 steps in 0:03 (2 epochs), val/loss X\n",
    ]);
  });

  it("say tokens a second where they are counted, and the memory when asked to", async () => {
    await timedTrainer({ plainEvery: 1, memory: true }, { samples: 64, tokens: () => 50 }).fit();
    expect(written[0]).toMatch(/^step 1\/16 \(6%\), epoch 1\/1, [\d.]+ GiB, /);
    expect(written[1]).toMatch(/, 10\.0 steps\/s, 500 tokens\/s, [\d.]+ GiB, /);
  });

  it("of many short epochs are few", async () => {
    await timedTrainer({ plainEvery: 100, metrics: [] }, { epochs: 20 }).fit();
    expect(written.filter((line) => line.startsWith("step"))).toHaveLength(8);
  });

  it("tell of a long evaluation, and of one of its own", async () => {
    const eval_ = new DataLoader(tinyData(64), { batchSize: 4 });
    const trainer = timedTrainer({ plainEvery: 0.5, metrics: ["loss"] }, { eval: eval_ });
    await trainer.fit();
    expect(written).toContain("evaluating val: batch 10/16 (62%), 0:01\n");
    written = [];
    await trainer.evaluate(new DataLoader(tinyData(8), { batchSize: 4 }));
    expect(written).toEqual([expect.stringMatching(/^evaluated test: 2 batches in 0:00, test\/loss [\d.]+\n$/)]);
  });

  it("of a run that fails say so", async () => {
    const fail: Hook = { name: "fail", onStepEnd: (ctx) => void (ctx.step === 3 && raise()) };
    const raise = (): never => {
      throw new Error("no more\nof this");
    };
    await expect(timedTrainer({}, { hooks: [fail] }).fit()).rejects.toThrow(/no more/);
    expect(written.at(-1)).toMatch(/^error at step 3, after 0:00 \(Hook `fail` failed in `stepEnd`.*no more\)/);
  });
});

describe("looking", () => {
  /** Fires `stepEnd` a thousand times over `ms`, and counts what is read. To read the loss takes `wait` milliseconds more. */
  function looks(options: ProgressBarOptions, ms: number, wait = 0): Record<string, number> {
    fakeClock();
    const hook = progressBar({ write, ...options });
    const reads: Record<string, number> = { loss: 0, lr: 0 };
    hook.onTrainBegin!(testContext("trainBegin", { step: 0, totalSteps: 2000 }).ctx);
    for (let step = 1; step <= 1000; step++) {
      now += ms / 1000;
      const fields = { step, totalSteps: 2000, skipped: false };
      const { ctx } = testContext("stepEnd", fields);
      const read = (field: string) => () => {
        if (field === "loss") now += wait;
        return ++reads[field]!;
      };
      for (const field of ["loss", "lr"]) Object.defineProperty(ctx, field, { get: read(field) });
      hook.onStepEnd!(ctx);
    }
    return reads;
  }

  it("happens only when something is to be shown", () => {
    expect(looks({ plainEvery: 1, sparkline: false }, 9999)).toEqual({ loss: 10, lr: 10 });
  });

  it("takes a tenth of the time where a read waits for the device, but happens every second", () => {
    const options: ProgressBarOptions = { plainEvery: 0.1, sparkline: false };
    expect(looks(options, 9999).loss).toBe(91);
    // Every 510 ms, of which 50 are waited for: 22.2 s.
    expect(looks(options, 20_000, 50).loss).toBe(44);
    expect(looks(options, 10_000, 500).loss).toBe(20);
  });

  it("reads only what is shown", () => {
    expect(looks({ plainEvery: 1, sparkline: false, metrics: ["lr"] }, 9999)).toEqual({ loss: 0, lr: 10 });
    expect(looks({ plainEvery: 1, sparkline: false, metrics: "val/*" }, 9999)).toEqual({ loss: 0, lr: 0 });
  });

  it("costs the device two reads in a run of many quick steps", async () => {
    const { engine, reads } = await countingEngine();
    const bare = async (hooks: Hook[]): Promise<number> => {
      const before = reads();
      await tinyTrainer({ engine, samples: 400, hooks }).fit();
      return reads() - before;
    };
    // The first step and the last.
    expect((await bare([progressBar({ write })])) - (await bare([]))).toBe(2);
  });
});

describe("live", () => {
  it("is drawn at most ten times a second, and leaves stdout as it was", () => {
    fakeClock();
    const drawn: string[] = [];
    const spy = vi.spyOn(process.stdout, "write").mockImplementation((text) => drawn.push(String(text)) > 0);
    const { write: before } = process.stdout;
    const hook = progressBar({ live: true, width: 60, color: false });
    hook.onTrainBegin!(testContext("trainBegin", { step: 0, totalSteps: 5000 }).ctx);
    expect(process.stdout.write).not.toBe(before);
    for (let step = 1; step <= 5000; step++) {
      now += 1;
      hook.onStepEnd!(testContext("stepEnd", { step, totalSteps: 5000, loss: 1, lr: 1, skipped: false }).ctx);
    }
    // Five seconds; and one that hides the cursor, one before the first step.
    expect(drawn.length).toBeLessThanOrEqual(52);
    expect(drawn.length).toBeGreaterThan(45);
    const end = { step: 5000, totalSteps: 5000, status: "completed", reason: "1 epoch" } as const;
    hook.onTrainEnd!(testContext("trainEnd", end).ctx);
    hook.onClose!(testContext("close").ctx);
    expect(drawn.join("")).toMatch(/completed: 1 epoch {2}5000 steps {2}0:05[^]*\[\?25h$/);
    expect(process.stdout.write).toBe(before);
    spy.mockRestore();
  });

  it("is taken away by close, whatever did not happen before", () => {
    const drawn: string[] = [];
    vi.spyOn(process.stdout, "write").mockImplementation((text) => drawn.push(String(text)) > 0);
    const { write: before } = process.stdout;
    const hook = progressBar({ live: true });
    hook.onTrainBegin!(testContext("trainBegin", { step: 0 }).ctx);
    hook.onClose!(testContext("close").ctx);
    hook.onClose!(testContext("close").ctx);
    expect(process.stdout.write).toBe(before);
    expect(drawn.join("").endsWith("\u001B[?25h")).toBe(true);
  });
});

describe("what is shown", () => {
  it("of a skipped step is not the loss of another one", () => {
    fakeClock();
    const hook = progressBar({ write, metrics: ["loss"] });
    hook.onTrainBegin!(testContext("trainBegin", { step: 0 }).ctx);
    hook.onStepEnd!(testContext("stepEnd", { step: 1, loss: 5, skipped: true }).ctx);
    expect(written).toEqual(["step 1/100 (1%), epoch 1, 0:00 elapsed\n"]);
  });

  it("after a resume: the time of all parts, the speed of this one, and the last evaluation", () => {
    fakeClock();
    const hook = progressBar({ write, plainEvery: 0.1 });
    const config = { eval: { next: () => undefined } };
    const metrics = { "val/loss": 0.5, "train/loss": 0.6 };
    const at = { epoch: 4, totalSteps: 10_000, metrics, config };
    hook.onTrainBegin!(testContext("trainBegin", { ...at, step: 9000, elapsed: 90_000 }).ctx);
    for (const step of [9001, 9002]) {
      now += 100;
      hook.onStepEnd!(testContext("stepEnd", { ...at, step, loss: 0.25, lr: 0.1, skipped: false }).ctx);
    }
    expect(written.at(-1)).toBe(
      "step 9002/10000 (90%), epoch 5, 10.0 steps/s, 1d 01:00 elapsed, 1:40 left, loss 0.2500, lr 0.1, val/loss 0.5000\n",
    );
  });

  it("at the end of a run that was cut short is the mean of its epoch, not the loss of some step before", () => {
    fakeClock();
    const hook = progressBar({ write });
    hook.onTrainBegin!(testContext("trainBegin", { step: 0 }).ctx);
    hook.onStepEnd!(testContext("stepEnd", { step: 1, loss: 5, lr: 1, skipped: false }).ctx);
    const end = { status: "stopped", reason: "enough" } as const;
    hook.onTrainEnd!(testContext("trainEnd", { step: 2, metrics: { "train/loss": 4 }, ...end }).ctx);
    expect(written.at(-1)).toBe("stopped after 2 steps in 0:00 (enough), train/loss 4\n");
  });
});

describe("nothing to show", () => {
  it.each([
    ["an option", { quiet: true }, {}],
    ["a variable", {}, { HOOKLINE_QUIET: "1" }],
  ])("by %s: it does not listen", (_, options, env) => {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    expect(Object.keys(progressBar({ write, ...options }))).toEqual(["name", "stage"]);
    vi.unstubAllEnvs();
  });

  it("by --quiet, unless the program says otherwise", () => {
    const { argv } = process;
    process.argv = [...argv, "--quiet"];
    expect(progressBar({ write }).onStepEnd).toBeUndefined();
    expect(progressBar({ write, quiet: false }).onStepEnd).toBeDefined();
    process.argv = argv;
  });

  it("in a browser, unless it is told where to write", () => {
    vi.stubGlobal("process", undefined);
    const [none, some] = [progressBar(), progressBar({ write })];
    vi.unstubAllGlobals();
    expect([none.onStepEnd, typeof some.onStepEnd]).toEqual([undefined, "function"]);
  });
});

it("tells the others that it will say how the run ended, as long as it is there", async () => {
  vi.spyOn(process.stdout, "write").mockImplementation(() => true);
  const seen: boolean[] = [];
  const look: Hook = { name: "look", onClose: () => void seen.push(terminal()!.isAnnounced) };
  const trainer = tinyTrainer({ hooks: [progressBar({ live: false }), look] });
  await trainer.fit();
  expect([...seen, terminal()!.isAnnounced]).toEqual([true, false]);
});

it("options are checked", () => {
  expect(() => progressBar({ plainEvry: 5 } as ProgressBarOptions)).toThrow(/Did you mean `plainEvery`\?/);
  expect(() => progressBar({ plainEvery: 0 })).toThrow(/Expected `plainEvery` to be a number > 0/);
});
