// Several loaders and several optimizers: whose batch it is, whose step it is, and what moves.
import type { HostTensors } from "hookline";
import { DataLoader, type MixOptions } from "hookline/data";
import { linear, sequential } from "hookline/nn";
import { sgd } from "hookline/optim";
import { recordTrace, tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import { describe, expect, it } from "vitest";

/** Three batches, two and one. */
const loaders = () => ({
  a: new DataLoader(tinyData(6, 2), { batchSize: 2 }),
  b: new DataLoader(tinyData(4, 3), { batchSize: 2 }),
  c: new DataLoader(tinyData(2, 4), { batchSize: 2 }),
});
const model = () => sequential(linear(3, 4), linear(4, 1));

/** The loaders of an epoch's batches, in every event that names one. */
async function order(options: TinyOptions): Promise<string> {
  const trace = recordTrace({ events: ["beforeFetch", "batchBegin", "beforeForward", "batchEnd"] });
  await tinyTrainer({ train: loaders(), ...options, hooks: [trace] }).fit();
  const names = (event: string): string =>
    trace.entries
      .filter((entry) => entry.event === event)
      .map(({ fields }) => fields.loaderName)
      .join("");
  for (const { fields } of trace.entries) expect(fields.loaderName).toBe("abc"[fields.loaderIdx as number]);
  for (const event of ["beforeFetch", "beforeForward", "batchEnd"]) expect(names(event)).toBe(names("batchBegin"));
  return names("batchBegin");
}

describe("several training loaders", () => {
  it.each<[MixOptions | undefined, string]>([
    [undefined, "abcaba"],
    [{ strategy: "roundRobin" }, "abcaba"],
    [{ strategy: "roundRobin", length: "min" }, "abcab"],
    [{ strategy: "roundRobin", length: "max" }, "abcabca"],
    [{ strategy: "roundRobin", length: 8 }, "abcabcab"],
    [{ strategy: "sequential" }, "aaabbc"],
    [{ strategy: "sequential", length: 8 }, "aaabbcaa"],
    [{ strategy: "alternating", bursts: { a: 2, b: 1, c: 1 } }, "aabcab"],
  ])("%o: %s", async (mix, expected) => {
    expect(await order({ mix, epochs: 1 })).toBe(expected);
  });

  it("by chance: in proportion to the weights, and the same for the same seed", async () => {
    const mix: MixOptions = { strategy: "weighted", weights: { a: 6, b: 3, c: 1 }, length: 200 };
    const drawn = await order({ mix, epochs: 1, seed: 3 });
    expect(await order({ mix, epochs: 1, seed: 3 })).toBe(drawn);
    expect(await order({ mix, epochs: 1, seed: 4 })).not.toBe(drawn);
    const share = (name: string): number => drawn.split(name).length - 1;
    expect([share("a"), share("b"), share("c")].map((n, i) => Math.abs(n - [120, 60, 20][i]!) < 30)).toEqual([
      true,
      true,
      true,
    ]);
  });

  it("make steps of batches from several when they accumulate", async () => {
    const trace = recordTrace({ events: ["stepBegin", "batchBegin"] });
    await tinyTrainer({ train: loaders(), accumulate: 4, hooks: [trace] }).fit();
    const marks = trace.entries.map(({ event, fields }) => (event === "stepBegin" ? "|" : fields.loaderName));
    expect(marks.join("")).toBe("|abca|ba");
  });

  it("weigh their losses by `lossWeights`: the gradient, not the loss that is shown", async () => {
    const run = async (options: TinyOptions) => {
      const trace = recordTrace({ events: ["batchEnd"] });
      const trainer = tinyTrainer({
        train: loaders(),
        mix: { strategy: "sequential" },
        steps: 3,
        seed: 2,
        ...options,
        hooks: [trace],
      });
      const before = await trainer.stateDict();
      await trainer.fit();
      return { losses: trace.entries.map(({ fields }) => fields.loss), before, after: await trainer.stateDict() };
    };
    const [plain, none, double] = [
      await run({}),
      await run({ lossWeights: { a: 0 } }),
      await run({ lossWeights: { a: 2 }, optimizer: sgd({ lr: 0.05 }) }),
    ];
    expect(none.after).toEqual(none.before);
    expect(none.losses[0]).toBe(plain.losses[0]);
    // Twice the loss at half the rate is the same step.
    expect(double.after).toEqual(plain.after);
  });
});

const changed = (before: HostTensors, after: HostTensors): string[] =>
  Object.keys(before).filter((name) => before[name]!.data.some((value, i) => value !== after[name]!.data[i]));

describe("several optimizers", () => {
  const both = { first: sgd({ lr: 0.01, params: "0." }), last: sgd({ lr: 0.02, params: "1." }) };
  const tied = {
    first: sgd({ lr: 0.01, params: "0.", loader: "a" }),
    last: sgd({ lr: 0.02, params: "1.", loader: "b" }),
  };
  const two = () => ({ a: loaders().a, b: loaders().b });
  const OPTIMIZER = ["beforeOptimizerStep", "gradientClip", "afterOptimizerStep"] as const;

  it("update in one round per step, each with its own events and rate", async () => {
    const trace = recordTrace({ events: ["stepBegin", ...OPTIMIZER, "stepEnd"] });
    const result = await tinyTrainer({ model: model(), optimizer: both, clipNorm: 1, steps: 2, hooks: [trace] }).fit();
    expect(result.steps).toBe(2);
    const round = [
      "stepBegin",
      ...OPTIMIZER.slice(0, 2).flatMap((event) => [`${event} 0`, `${event} 1`]),
      "afterOptimizerStep 0",
      "afterOptimizerStep 1",
      "stepEnd",
    ];
    const names = trace.entries.map(({ event, fields }) => [event, fields.optimizerIdx].join(" ").trim());
    expect(names).toEqual([...round, ...round]);
    const rates = trace.entries.filter(({ event }) => event === "afterOptimizerStep").map(({ fields }) => fields.lr);
    expect(rates).toEqual([0.01, 0.02, 0.01, 0.02]);
  });

  it("move what one optimizer would move, to the bit", async () => {
    const after = async (optimizer: TinyOptions["optimizer"]): Promise<HostTensors> => {
      const trainer = tinyTrainer({ model: model(), optimizer, steps: 5, clipNorm: 0.5 });
      await trainer.fit();
      return trainer.stateDict();
    };
    const groups = [{ params: "1.", lr: 0.02 }];
    expect(await after(both)).toEqual(await after(sgd({ lr: 0.01, groups })));
  });

  it("tied to loaders update in steps of their own loader alone", async () => {
    const trace = recordTrace({ events: ["batchBegin", "afterOptimizerStep"] });
    const options = { model: model(), optimizer: tied, train: two() };
    const trainer = tinyTrainer({ ...options, hooks: [trace] });
    let before = await trainer.stateDict();
    const moved: string[][] = [];
    for (let step = 1; step <= 2; step++) {
      await trainer.fit({ steps: step });
      const after = await trainer.stateDict();
      moved.push(changed(before, after));
      before = after;
    }
    expect(moved).toEqual([
      ["0.weight", "0.bias"],
      ["1.weight", "1.bias"],
    ]);
    const seen = trace.entries.map(({ fields }) => fields.optimizerIdx ?? fields.loaderName);
    expect(seen).toEqual(["a", 0, "b", 1]);
  });

  it("tied to loaders move alike in every plan", async () => {
    const after = async (observed: boolean): Promise<HostTensors> => {
      const hooks = observed ? [recordTrace()] : [];
      const trainer = tinyTrainer({ model: model(), optimizer: tied, train: two(), epochs: 2, hooks });
      await trainer.fit();
      return trainer.stateDict();
    };
    expect(await after(true)).toEqual(await after(false));
  });

  it("tied to loaders have all batches of a step from one of them", async () => {
    const trace = recordTrace({ events: ["trainBegin", "stepBegin", "batchBegin"] });
    const options = { model: model(), optimizer: tied, train: two(), accumulate: 2 };
    const result = await tinyTrainer({ ...options, hooks: [trace] }).fit();
    const marks = trace.entries.slice(1).map(({ event, fields }) => (event === "stepBegin" ? "|" : fields.loaderName));
    expect(marks.join("")).toBe("|aa|bb|a");
    expect(result.steps).toBe(3);
    expect(trace.entries[0]!.fields.totalSteps).toBe(3);
  });
});
