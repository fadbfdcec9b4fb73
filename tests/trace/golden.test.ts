// The canonical traces. Each is a file that a person has read; a change of the loop shows up as a change of a file.
import type { Hook } from "hookline";
import { memoryStore } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { recordTrace, tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import { sgd } from "hookline/optim";
import { linear, sequential } from "hookline/nn";
import { describe, expect, test } from "vitest";
import { outline } from "../support/outline.ts";

const loader = (samples: number) => new DataLoader(tinyData(samples), { batchSize: 4 });

async function trace(options: TinyOptions, ...hooks: Hook[]): Promise<string> {
  const recorder = recordTrace();
  await using trainer = tinyTrainer({ logEvery: 1000, ...options, hooks: [...hooks, recorder] });
  await trainer.fit().catch((error: Error) => recorder.entries.length > 0 || Promise.reject(error));
  return outline(recorder.entries);
}

const golden = (name: string): string => `./golden/${name}.txt`;

const twoOptimizers = {
  model: sequential(linear(3, 2), linear(2, 1)),
  optimizer: { body: sgd({ lr: 0.1, params: "0." }), head: sgd({ lr: 0.01, params: "1." }) },
};

describe("golden traces", () => {
  test("plain run", async () => {
    const options = { epochs: 2, samples: 8, eval: loader(8), logEvery: 2, clipNorm: 1 };
    await expect(await trace(options)).toMatchFileSnapshot(golden("plain"));
  });

  test("accumulation, the trailing partial group is stepped", async () => {
    await expect(await trace({ accumulate: 2, samples: 12 })).toMatchFileSnapshot(golden("accumulation"));
  });

  test("evaluation every 2 steps", async () => {
    await expect(await trace({ samples: 20, eval: loader(4), evalEvery: "2 steps" })).toMatchFileSnapshot(
      golden("eval-every-2-steps"),
    );
  });

  test("several loaders", async () => {
    await expect(await trace({ train: { a: loader(8), b: loader(4) } })).toMatchFileSnapshot(golden("several-loaders"));
  });

  test("several optimizers", async () => {
    await expect(await trace({ ...twoOptimizers, samples: 4, clipNorm: 1 })).toMatchFileSnapshot(
      golden("several-optimizers"),
    );
  });

  test("optimizers tied to loaders, with accumulation", async () => {
    const { body, head } = twoOptimizers.optimizer;
    const tied = { body: { ...body, loader: "a" }, head: { ...head, loader: "b" } };
    const options = { ...twoOptimizers, optimizer: tied, train: { a: loader(8), b: loader(12) }, accumulate: 2 };
    await expect(await trace(options)).toMatchFileSnapshot(golden("tied-optimizers"));
  });

  test("stop in mid-epoch", async () => {
    const stopper: Hook = { name: "stopper", onStepEnd: (ctx) => void (ctx.step === 2 && ctx.stop("enough")) };
    await expect(await trace({ epochs: 3, eval: loader(4) }, stopper)).toMatchFileSnapshot(golden("stop-mid-epoch"));
  });

  test("exception inside a step", async () => {
    const model = linear(3, 1);
    const failing: typeof model = {
      ...model,
      apply(params, x, ctx) {
        if (x.shape[0] === 2) throw new Error("model failed");
        return model.apply(params, x, ctx);
      },
    };
    // The second batch is smaller: the model is traced again, and that is when it fails.
    await expect(await trace({ model: failing, samples: 6 })).toMatchFileSnapshot(golden("exception-in-step"));
  });

  test("exception inside a hook", async () => {
    const bad: Hook = {
      name: "bad",
      onBatchBegin: (ctx) => {
        if (ctx.step === 2) throw new Error("no");
      },
    };
    await expect(await trace({}, bad)).toMatchFileSnapshot(golden("exception-in-hook"));
  });

  test("skip batch", async () => {
    const skipper: Hook = { name: "skipper", onBatchBegin: (ctx) => void (ctx.batchIdx === 1 && ctx.skip("batch")) };
    await expect(await trace({ accumulate: 2 }, skipper)).toMatchFileSnapshot(golden("skip-batch"));
  });

  test("skip step, at its begin and before the update", async () => {
    const skipper: Hook = {
      name: "skipper",
      onStepBegin: (ctx) => void (ctx.step === 1 && ctx.skip("step")),
      onBeforeFetch: (ctx) => void (ctx.step === 2 && ctx.skip("step")),
      onAfterForward: (ctx) => void (ctx.step === 3 && ctx.skip("step")),
      onBeforeOptimizerStep: (ctx) => void (ctx.step === 4 && ctx.skip("step")),
    };
    await expect(await trace({ accumulate: 2, samples: 40 }, skipper)).toMatchFileSnapshot(golden("skip-step"));
  });

  test("skip epoch, at its begin and in the middle", async () => {
    const skipper: Hook = {
      name: "skipper",
      onEpochBegin: (ctx) => void (ctx.epoch === 0 && ctx.skip("epoch")),
      onBatchBegin: (ctx) => void (ctx.epoch === 1 && ctx.batchIdx === 1 && ctx.skip("epoch")),
      onStepEnd: (ctx) => void (ctx.epoch === 2 && ctx.skip("epoch")),
    };
    await expect(await trace({ epochs: 4, samples: 12 }, skipper)).toMatchFileSnapshot(golden("skip-epoch"));
  });

  test("AbortSignal", async () => {
    const recorder = recordTrace();
    const controller = new AbortController();
    const aborter: Hook = { name: "aborter", onStepEnd: (ctx) => void (ctx.step === 3 && controller.abort()) };
    await using trainer = tinyTrainer({ hooks: [aborter, recorder], eval: loader(4) });
    await trainer.fit({ signal: controller.signal });
    await expect(outline(recorder.entries)).toMatchFileSnapshot(golden("abort-signal"));
  });

  describe("checkpoints", () => {
    const every2: Hook = {
      name: "every2",
      onTrainBegin: (ctx) => ctx.requestSave("final", { at: "end" }),
      onStepEnd: (ctx) => (ctx.step % 2 === 0 ? ctx.requestSave("interval") : undefined),
      onEpochEnd: (ctx) => ctx.requestSave("interval"),
    };
    const saving = (): TinyOptions => ({ store: memoryStore(), save: "sync", eval: loader(4), logEvery: 2 });

    test("saved every 2 steps and after each epoch", async () => {
      await expect(await trace({ ...saving(), epochs: 2, samples: 12 }, every2)).toMatchFileSnapshot(golden("saves"));
    });

    test("a save after the last step is not that of the end: the epoch's end comes in between", async () => {
      const told: string[] = [];
      const tells: Hook = {
        name: "tells",
        onTrainBegin: (ctx) => ctx.requestSave("final", { at: "end" }),
        onStepEnd: (ctx) => (ctx.step % 2 === 0 ? ctx.requestSave("interval", { name: `at-${ctx.step}` }) : undefined),
        onEpochBegin: ({ epoch }) => void told.push(`epochBegin ${epoch}`),
        onEpochEnd: ({ epoch }) => void told.push(`epochEnd ${epoch}`),
        onAfterSave: ({ saved }) => void told.push(`${saved.name} ${saved.reason}`),
      };
      const options = { store: memoryStore(), save: "sync", samples: 12, hooks: [tells] } as const;
      await using first = tinyTrainer({ ...options, steps: 6 });
      await first.fit();
      expect(told.splice(0).slice(-4)).toEqual(["at-4 interval", "at-6 interval", "epochEnd 1", "step-000006 final"]);

      // So a run goes on from the one with that end, and from the other behind it.
      const goesOn = async (resume: string): Promise<string> => {
        await using second = tinyTrainer({ ...options, steps: 7 });
        await second.fit({ resume });
        return told.splice(0)[0]!;
      };
      expect([await goesOn("at-6"), await goesOn("step-000006")]).toEqual(["epochEnd 1", "epochBegin 2"]);
    });

    test("resumed in mid-epoch, where it does not begin again", async () => {
      const options = { ...saving(), samples: 20 };
      const onSteps: Hook = { name: "onSteps", onStepEnd: (ctx) => ctx.requestSave() };
      await using first = tinyTrainer({ ...options, steps: 3, hooks: [onSteps] });
      await first.fit();
      const recorder = recordTrace();
      await using second = tinyTrainer({ ...options, hooks: [recorder] });
      await second.fit({ resume: "step-000002" });
      await expect(outline(recorder.entries)).toMatchFileSnapshot(golden("resume"));
    });

    test("a rollback comes first at its boundary", async () => {
      const back: Hook = { name: "back", onStepEnd: (ctx) => (ctx.step === 4 ? ctx.rollback() : undefined) };
      await expect(await trace({ ...saving(), samples: 20 }, every2, back)).toMatchFileSnapshot(golden("rollback"));
    });

    test("an emergency save after an exception", async () => {
      const bad: Hook = {
        name: "bad",
        onBatchBegin: (ctx) => {
          if (ctx.step === 4) throw new Error("no");
        },
      };
      await expect(await trace(saving(), every2, bad)).toMatchFileSnapshot(golden("emergency"));
    });

    test("a save that fails", async () => {
      const store = { ...memoryStore(), save: () => Promise.reject(new Error("full")) };
      const once: Hook = { name: "once", onStepEnd: (ctx) => (ctx.step === 2 ? ctx.requestSave() : undefined) };
      await expect(await trace({ ...saving(), store, warn() {} }, once)).toMatchFileSnapshot(golden("save-error"));
    });
  });

  test("evaluate and predict on their own", async () => {
    const recorder = recordTrace();
    await using trainer = tinyTrainer({ hooks: [recorder] });
    await trainer.evaluate(loader(8));
    await trainer.predict(loader(8));
    await expect(outline(recorder.entries)).toMatchFileSnapshot(golden("standalone"));
  });
});
