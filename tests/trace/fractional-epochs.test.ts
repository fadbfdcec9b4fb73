// Fractions of an epoch: wherever a cadence is taken they fire at the steps that a plain definition gives.
import * as fc from "fast-check";
import { modelCheckpoint, type Cadence, type Hook, type Trainer } from "hookline";
import { memoryStore } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { recordTrace, tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import { describe, expect, it } from "vitest";

const evalLoader = () => new DataLoader(tinyData(2, 2), { batchSize: 2 });

/** Where the events of a run fire. */
interface Fired {
  readonly steps: Record<string, number[]>;
  readonly hooks: Hook[];
}

function listening(every: Cadence): Fired {
  const steps: Record<string, number[]> = { evaluated: [], hook: [], inside: [], saved: [], asked: [] };
  const note = (what: string) => (ctx: { readonly step: number }) => void steps[what]!.push(ctx.step);
  return {
    steps,
    hooks: [
      { name: "evaluated", onEvalEnd: note("evaluated") },
      { name: "hook", every, onStepEnd: note("hook") },
      { name: "inside", every, onBeforeOptimizerStep: note("inside") },
      { name: "asked", onStepEnd: (ctx) => (ctx.due(every) ? note("asked")(ctx) : undefined) },
      {
        name: "saved",
        onAfterSave: ({ saved }) => void (saved.reason === "interval" && steps.saved!.push(saved.step)),
      },
    ],
  };
}

function make(every: Cadence, fired: Fired, options: TinyOptions): Trainer {
  return tinyTrainer({
    batchSize: 1,
    eval: evalLoader(),
    evalEvery: every,
    store: memoryStore(),
    save: "sync",
    ...options,
    hooks: [...fired.hooks, modelCheckpoint({ every, saveLast: 100, atEnd: false }), ...(options.hooks ?? [])],
  });
}

/** The steps in which a run passes a multiple of `fraction` epochs of `batches` batches. */
function plainly(batches: number, accumulate: number, epochs: number, fraction: number): number[] {
  const steps: number[] = [];
  let step = 0;
  for (let epoch = 0; epoch < epochs; epoch++) {
    for (let taken = 0; taken < batches; taken += accumulate) {
      step++;
      const before = epoch + taken / batches;
      const after = epoch + Math.min(taken + accumulate, batches) / batches;
      const passes = (k: number): boolean => before < k * fraction - 1e-9 && k * fraction - 1e-9 <= after;
      const about = Math.floor(after / fraction);
      if ([about - 1, about, about + 1].some((k) => k > 0 && passes(k))) steps.push(step);
    }
  }
  return steps;
}

describe("every half or quarter of an epoch", () => {
  it.each([
    ["0.5 epochs", [4, 8, 12, 16]],
    ["0.25 epochs", [2, 4, 6, 8, 10, 12, 14, 16]],
    ["1.5 epochs", [12]],
  ] as const)("%s of 8 steps", async (every, expected) => {
    const fired = listening(every);
    await make(every, fired, { samples: 8, epochs: 2 }).fit();
    expect(fired.steps).toEqual({
      evaluated: expected,
      hook: expected,
      inside: expected,
      saved: expected,
      asked: expected,
    });
  });

  it("logs, with `logEvery`", async () => {
    const steps: number[] = [];
    const hook: Hook = { name: "h", onLog: (ctx) => void steps.push(ctx.step) };
    await tinyTrainer({ samples: 8, batchSize: 1, epochs: 2, logEvery: "0.5 epochs", hooks: [hook] }).fit();
    // Every epoch's end logs too.
    expect([...new Set(steps)]).toEqual([4, 8, 12, 16]);
  });

  it("bounds what begins and ends within an epoch", async () => {
    const steps: number[] = [];
    const hook: Hook = {
      name: "middle",
      every: { every: "1 steps", from: "0.5 epochs", until: "1.25 epochs" },
      onStepEnd: (ctx) => void steps.push(ctx.step),
    };
    await tinyTrainer({ samples: 8, batchSize: 1, epochs: 2, hooks: [hook] }).fit();
    expect(steps).toEqual([5, 6, 7, 8, 9, 10]);
  });

  it("points within an epoch, and a whole epoch with its last step", async () => {
    const at = async (every: Cadence): Promise<number[]> => {
      const steps: number[] = [];
      const hook: Hook = { name: "h", every, onStepEnd: (ctx) => void steps.push(ctx.step) };
      await tinyTrainer({ samples: 8, batchSize: 1, epochs: 2, hooks: [hook] }).fit();
      return steps;
    };
    expect(await at({ at: ["0.5 epochs", "1.75 epochs"] })).toEqual([4, 14]);
    expect(await at("1 epoch")).toEqual([8, 16]);
  });
});

describe("any fraction", () => {
  const batches = fc.integer({ min: 1, max: 9 });
  const accumulate = fc.integer({ min: 1, max: 4 });
  const fraction = fc.oneof(
    fc.constantFrom(0.1, 0.2, 0.25, 0.3, 0.5, 0.7, 1, 1.1, 1.5, 2),
    fc.integer({ min: 1, max: 300 }).map((n) => n / 100),
  );
  const epochs = 3;

  it("fires at the steps of the definition, and at the same ones after a resume at any step", async () => {
    await fc.assert(
      fc.asyncProperty(batches, accumulate, fraction, fc.nat(), async (length, micro, part, cut) => {
        const every = `${part} epochs`;
        const expected = plainly(length, micro, epochs, part);
        const store = memoryStore();
        const options = { samples: length, accumulate: micro, epochs, store };
        const fired = listening(every);
        const total = Math.ceil(length / micro) * epochs;
        const at = 1 + (cut % total);
        const keep: Hook = {
          name: "keep",
          onStepEnd: (ctx) => void (ctx.step === at && ctx.requestSave("manual", { name: "cut" })),
        };
        await using whole = make(every, fired, { ...options, hooks: [keep] });
        await whole.fit();
        expect(fired.steps).toEqual({
          evaluated: expected,
          hook: expected,
          inside: expected,
          // One save at a boundary is enough: that of `keep` may be the one.
          saved: expected.filter((step) => step !== at || fired.steps.saved!.includes(at)),
          asked: expected,
        });
        const rest = listening(every);
        await using resumed = make(every, rest, options);
        await resumed.fit({ resume: "cut" });
        const later = expected.filter((step) => step > at);
        expect(rest.steps.hook, `resumed at ${at}`).toEqual(later);
        expect(rest.steps.inside).toEqual(later);
        // An evaluation at the end of an epoch comes after the checkpoint of its last step.
        const due = Number.isInteger(part) ? expected.filter((step) => step >= at) : later;
        expect(rest.steps.evaluated).toEqual(due);
      }),
      { numRuns: 40 },
    );
  });
});

describe("where the length of an epoch is not known", () => {
  const stream = () =>
    new DataLoader(
      function* () {
        for (let i = 0; i < 4; i++) yield { x: Float32Array.of(i, 1, 2), y: Float32Array.of(i) };
      },
      { batchSize: 1 },
    );

  const hookWith = (every: Cadence): Hook => ({ name: "h", every, onStepEnd: () => undefined });

  it.each<[string, TinyOptions]>([
    ["a hook", { hooks: [hookWith("0.5 epochs")] }],
    ["evalEvery", { eval: evalLoader(), evalEvery: "0.5 epochs" }],
    ["from", { hooks: [hookWith({ every: 1, from: "0.5 epochs" })] }],
  ])("a fraction is an error: %s", async (_, options) => {
    await expect(tinyTrainer({ epochs: 2, train: stream(), ...options }).fit()).rejects.toThrow(
      /a cadence of 0\.5 epochs needs the number of batches in an epoch, which is not known here/,
    );
  });

  it("whole epochs count from the first step after them", async () => {
    const steps: number[] = [];
    const hook: Hook = { name: "h", every: "1 epoch", onStepEnd: (ctx) => void steps.push(ctx.step) };
    await tinyTrainer({ epochs: 3, train: stream(), hooks: [hook] }).fit();
    expect(steps).toEqual([5, 9]);
  });
});

describe("a fractional limitBatches", () => {
  it.each([
    [0.25, 2, 1],
    [0.29, 2, 1],
    [{ train: 0.5 }, 4, 4],
    [{ eval: 0.5 }, 8, 2],
    [0.01, 1, 1],
  ] as const)("%o", async (limitBatches, steps, evaluated) => {
    const trace = recordTrace({ events: ["evalBatchEnd"] });
    const val = new DataLoader(tinyData(4, 2), { batchSize: 1 });
    const trainer = tinyTrainer({ samples: 8, batchSize: 1, epochs: 1, limitBatches, eval: val, hooks: [trace] });
    const result = await trainer.fit();
    expect(result.steps).toBe(steps);
    expect(trace.entries).toHaveLength(evaluated);
  });

  it("shortens the epoch that cadences count", async () => {
    const steps: number[] = [];
    const hook: Hook = { name: "h", every: "0.5 epochs", onStepEnd: (ctx) => void steps.push(ctx.step) };
    await tinyTrainer({ samples: 8, batchSize: 1, epochs: 2, limitBatches: 0.5, hooks: [hook] }).fit();
    expect(steps).toEqual([2, 4, 6, 8]);
  });

  it("is an error for data of unknown length", () => {
    const train = new DataLoader(() => [], { batchSize: 1 });
    expect(() => tinyTrainer({ train, limitBatches: 0.5 })).toThrow(
      /`limitBatches` is a fraction \(0\.5\), but the length of the training data is not known/,
    );
  });
});
