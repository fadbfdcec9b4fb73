import { describe, expect, test } from "vitest";
import { memoryStore } from "../checkpoint/stores/memory-store.ts";
import type { Hook } from "../core/hook.ts";
import type { HostBatch, Loader } from "../core/model.ts";
import { DataLoader } from "../data/index.ts";
import { earlyStopping } from "../hooks/early-stopping/early-stopping.ts";
import { lrMonitor } from "../hooks/lr-monitor.ts";
import { modelCheckpoint } from "../hooks/model-checkpoint/model-checkpoint.ts";
import { accuracy, linear, relu, sequential } from "../nn/index.ts";
import { mae } from "../nn/metrics/errors.ts";
import { plateau, sequence, sgd } from "../optim/index.ts";
import { tinyData, tinyTrainer, type TinyOptions } from "../testing/index.ts";

/** Counts steps and the events before them. */
function counter() {
  const seen = { steps: 0, inits: 0, exceptions: 0 };
  const hook: Hook = {
    name: "counter",
    onInit: () => void seen.inits++,
    onStepEnd: () => void seen.steps++,
    onException: () => void seen.exceptions++,
  };
  return { seen, hook };
}

/** The error of a fit that must fail before its first step, and before hooks hear of a run. */
async function refusal({ hooks = [], ...options }: TinyOptions): Promise<string> {
  const { seen, hook } = counter();
  const error = await tinyTrainer({ ...options, hooks: [hook, ...hooks] })
    .fit()
    .then(
      () => new Error("it was trained"),
      (cause: unknown) => cause as Error,
    );
  expect([seen.steps, seen.inits]).toEqual([0, 0]);
  return error.message;
}

const { x, y } = tinyData(8);
const good = () => new DataLoader({ x, y }, { batchSize: 4 });
const wide = () => new DataLoader({ x: { data: new Float32Array(8 * 5), shape: [8, 5] }, y }, { batchSize: 4 });

describe("a metric that nothing provides", () => {
  const metrics = { mae: mae(), accuracy: accuracy() };
  const known = "Known metrics: train/loss, train/mae, train/accuracy, val/loss, val/mae, val/accuracy.";

  test("is found before the first step, with the hook and the nearest right name", async () => {
    const options = { eval: good(), metrics, store: memoryStore() };
    expect(await refusal({ ...options, hooks: [earlyStopping({ monitor: "val/acuracy" })] })).toBe(
      `Hook \`earlyStopping\` watches \`val/acuracy\`, but nothing provides that metric. Did you mean \`val/accuracy\`? ${known} If a hook of yours logs it, declare that there: \`logs: ["val/acuracy"]\`, or set \`strict: false\`.`,
    );
    expect(await refusal({ ...options, hooks: [modelCheckpoint({ monitor: "acuracy" })] })).toContain(
      "Hook `modelCheckpoint` watches `acuracy`, but nothing provides that metric. Did you mean `val/accuracy`?",
    );
    expect(await refusal({ ...options, hooks: [earlyStopping({ monitor: "val/acc" })] })).toContain(
      "Did you mean `val/accuracy`?",
    );
    expect(await refusal({ ...options, schedule: plateau({ monitor: "val/mea" }) })).toBe(
      `Schedule \`plateau\` watches \`val/mea\`, but nothing provides that metric. Did you mean \`val/mae\`? ${known} If a hook of yours logs it, declare that there: \`logs: ["val/mea"]\`.`,
    );
    const several = { eval: { seen: good(), unseen: good() }, hooks: [earlyStopping()] };
    expect(await refusal(several)).toContain(
      "watches `val/loss`, but nothing provides that metric. Known metrics: train/loss, seen/loss, unseen/loss.",
    );
  });

  test("one of training is not provided where it is for evaluations alone", async () => {
    const evalOnly = { mae: { ...mae(), evalOnly: true } };
    expect(await refusal({ metrics: evalOnly, hooks: [earlyStopping({ monitor: "train/mae" })] })).toContain(
      "watches `train/mae`, but nothing provides that metric. Known metrics: train/loss.",
    );
  });

  test("what a hook declares in `logs` may be watched, and so may anything without `strict`", async () => {
    const logs: Hook = {
      name: "f1",
      logs: ["val/f1", "slice/*"],
      onEvalEnd: (ctx) => ctx.log({ "val/f1": 1, "slice/a/f1": 1 }),
    };
    for (const monitor of ["val/f1", "val_f1", "slice/a/f1"]) {
      const trainer = tinyTrainer({ eval: good(), hooks: [logs, earlyStopping({ monitor })] });
      expect((await trainer.fit()).status).toBe("completed");
    }
    const undeclared = [{ ...logs, logs: [] }, earlyStopping({ monitor: "slice/a/f1", strict: false })];
    expect((await tinyTrainer({ eval: good(), hooks: undeclared }).fit()).status).toBe("completed");
    const off = tinyTrainer({ eval: good(), hooks: [logs, earlyStopping({ monitor: "val/f1" })] });
    off.hooks.disable("f1");
    await expect(off.fit()).rejects.toThrow("watches `val/f1`, but nothing provides that metric.");
  });

  test("hooks that ship with hookline declare what they log", async () => {
    const hooks = [lrMonitor(), earlyStopping({ monitor: "lr", checkOn: "epoch" })];
    expect((await tinyTrainer({ hooks }).fit()).status).toBe("completed");
    const onSteps = [earlyStopping({ monitor: "loss", checkOn: "step", patience: 100 })];
    expect((await tinyTrainer({ hooks: onSteps }).fit()).status).toBe("completed");
  });
});

describe("data that does not fit the model", () => {
  test("of an evaluation is found before the first step", async () => {
    expect(await refusal({ eval: wide() })).toMatch(
      /^The evaluation failed on a batch \{ x: \[4, 5\], y: \[4, 1\] \} of loader `val`: /,
    );
    expect(await refusal({ eval: new DataLoader({ images: x, y }, { batchSize: 4 }) })).toContain(
      "The batch has no field `x` for the model (it has: images, y).",
    );
    expect(await refusal({ eval: { near: good(), far: new DataLoader({ x }, { batchSize: 4 }) } })).toMatch(
      /^The evaluation failed on a batch \{ x: \[4, 3\] \} of loader `far`: /,
    );
    const empty = { length: 0, begin: () => undefined, next: () => undefined } as unknown as Loader;
    expect(await refusal({ eval: empty })).toBe("Evaluation loader `val` has no batches.");
    const broken = { update: () => ({}), compute: () => 0 };
    expect(await refusal({ eval: good(), metrics: { broken: { ...broken, evalOnly: true } } })).toContain(
      "Metric `broken`: update() must return",
    );
  });

  test("of any training loader is found before the first step, with the layer", async () => {
    const model = sequential(linear(3, 4), relu(), linear(5, 1));
    expect(await refusal({ model })).toMatch(
      /^The step failed on a batch \{ x: \[4, 3\], y: \[4, 1\] \} of loader `train`, in layer `2`: /,
    );
    // Its turn would come after the whole of the first.
    const mix = { strategy: "sequential" } as const;
    expect(await refusal({ train: { first: good(), second: wide() }, mix })).toMatch(/of loader `second`: /);
  });

  test("hooks hear of the failure", async () => {
    const { seen, hook } = counter();
    await expect(tinyTrainer({ eval: wide(), hooks: [hook] }).fit()).rejects.toThrow("The evaluation failed");
    expect(seen).toEqual({ steps: 0, inits: 0, exceptions: 1 });
  });

  test("is not judged where a hook may replace the batches", async () => {
    const narrow = ({ batch }: { batch: HostBatch }): HostBatch => ({
      x: { data: x.data.slice(0, 12), shape: [4, 3] },
      y: batch.y!,
    });
    const hooks: Hook[] = [
      {
        name: "narrow",
        onBatchBegin: (ctx) => ctx.replaceBatch(narrow(ctx)),
        onEvalBatchBegin: (ctx) => ctx.replaceBatch(narrow(ctx)),
      },
    ];
    expect((await tinyTrainer({ train: wide(), eval: wide(), hooks }).fit()).steps).toBe(2);
  });

  test("a program can ask beforehand, as often as it likes", async () => {
    const trainer = tinyTrainer({ eval: good() });
    const { batches, metrics } = await trainer.preflight();
    expect(batches.train.train!.x!.shape).toEqual([4, 3]);
    expect(batches.eval.val!.y!.shape).toEqual([4, 1]);
    expect(metrics).toEqual(["train/loss", "val/loss"]);
    await trainer.preflight();
    expect((await trainer.fit()).steps).toBe(4);
    await expect(tinyTrainer({ eval: wide() }).preflight()).rejects.toThrow("The evaluation failed");
  });
});

describe("looking at a first batch takes nothing from training", () => {
  /** What a run trains and evaluates on. */
  async function seenBy(options: TinyOptions): Promise<{ trained: number[]; evaluated: number[] }> {
    const [trained, evaluated]: [number[], number[]] = [[], []];
    const hook: Hook = {
      name: "seen",
      onBatchEnd: ({ batch }) => void trained.push(batch.x!.data[0]!),
      onEvalBatchEnd: ({ batch }) => void evaluated.push(batch.x!.data[0]!),
    };
    await tinyTrainer({ ...options, hooks: [hook] }).fit();
    return { trained, evaluated };
  }

  const batchOf = (n: number): HostBatch => ({
    x: { data: Float32Array.of(n, 0, 0, n, 0, 0), shape: [2, 3] },
    y: { data: new Float32Array(2), shape: [2, 1] },
  });
  const FOUR = { trained: [0, 1, 2, 3], evaluated: [10, 11] };

  test("of generators, which can be read only once", async () => {
    function* sync(from: number, to: number) {
      for (let n = from; n < to; n++) yield batchOf(n);
    }
    async function* later(from: number, to: number) {
      for (let n = from; n < to; n++) yield await Promise.resolve(batchOf(n));
    }
    expect(await seenBy({ train: new DataLoader(sync(0, 4)), eval: new DataLoader(sync(10, 12)) })).toEqual(FOUR);
    const ahead = { prefetch: 2 };
    const train = new DataLoader(later(0, 4), ahead);
    expect(await seenBy({ train, eval: new DataLoader(later(10, 12), ahead) })).toEqual(FOUR);
  });

  test("of a factory, which is called once an epoch", async () => {
    const opened: number[] = [];
    const stream = (from: number, to: number) =>
      new DataLoader(function* ({ epoch }: { epoch: number }) {
        opened.push(epoch);
        for (let n = from; n < to; n++) yield batchOf(n);
      });
    const { trained, evaluated } = await seenBy({ train: stream(0, 4), eval: stream(10, 12), epochs: 2 });
    expect([trained, evaluated]).toEqual([
      [0, 1, 2, 3, 0, 1, 2, 3],
      [10, 11, 10, 11],
    ]);
    expect(opened).toEqual([0, 0, 1, 0]);
  });

  /** Batches that are gone once they are read, whatever `begin` says: a queue, a socket. */
  function queue(from: number, to: number): Loader {
    let n = from;
    let [epoch, batches] = [0, 0];
    return {
      length: undefined,
      begin: (e) => void ([epoch, batches] = [e, 0]),
      next() {
        if (n === to) return undefined;
        batches++;
        return batchOf(n++);
      },
      skip: () => n++ < to,
      state: () => ({ epoch, batches, samples: 2 * batches }),
      load: () => undefined,
    };
  }

  test("of a loader that cannot go back", async () => {
    expect(await seenBy({ train: queue(0, 4), eval: queue(10, 12) })).toEqual(FOUR);
    // Only `begin` and `next` are needed to evaluate.
    const { begin, next } = queue(10, 12);
    const bare = { length: undefined, begin, next } as unknown as Loader;
    expect(await seenBy({ train: queue(0, 4), eval: bare })).toEqual(FOUR);
  });

  test("of one loader that trains and evaluates", async () => {
    const loader = new DataLoader(tinyData(8), { batchSize: 2, shuffle: true });
    const { trained, evaluated } = await seenBy({ train: loader, eval: loader, epochs: 2 });
    const alone = await seenBy({ train: new DataLoader(tinyData(8), { batchSize: 2, shuffle: true }), epochs: 2 });
    expect(trained).toEqual(alone.trained);
    expect(evaluated).toEqual([...alone.trained.slice(0, 4), ...alone.trained.slice(0, 4)]);
  });

  test("a run that ends before its first evaluation closes the loader", async () => {
    let closed = 0;
    const watched: Loader = { ...queue(10, 12), close: () => void closed++ };
    await tinyTrainer({ eval: watched, evalEvery: "5 epochs", steps: 1 }).fit();
    expect(closed).toBe(1);
    const stop: Hook = { name: "stop", onInit: () => Promise.reject(new Error("no")) };
    await expect(tinyTrainer({ eval: { ...watched }, hooks: [stop] }).fit()).rejects.toThrow("no");
    expect(closed).toBe(2);
  });
});

const evaluates = () => ({ eval: new DataLoader(tinyData(4), { batchSize: 4 }) });

describe("a run without evaluations", () => {
  test("a schedule that watches them is an error before it starts", async () => {
    const seen: string[] = [];
    const hooks = [{ name: "sees", onInit: () => void seen.push("init") }];
    await expect(tinyTrainer({ schedule: plateau(), hooks }).fit()).rejects.toThrow(
      "Schedule `plateau` watches `val/loss`, which comes after evaluations, but there are none: give the trainer `eval`, or let the schedule watch `train/loss`.",
    );
    expect(seen).toEqual([]);
    const inside = sequence([{ until: 2, schedule: plateau() }, { schedule: plateau() }]);
    await expect(tinyTrainer({ optimizer: sgd({ lr: 0.1, schedule: inside }) }).fit()).rejects.toThrow(
      "`sequence` watches `val/loss`",
    );
  });

  test("so is a hook that cannot do without them", async () => {
    const best = (strict: boolean) => [modelCheckpoint({ monitor: "val/loss", strict })];
    const trainer = (strict: boolean) => tinyTrainer({ store: memoryStore(), hooks: best(strict) });
    await expect(trainer(true).fit()).rejects.toThrow(
      "Hook `modelCheckpoint` watches `val/loss`, which comes after evaluations, but there are none: give the trainer `eval`; or, where a hook of yours logs it, say `strict: false`.",
    );
    expect((await trainer(false).fit()).status).toBe("completed");
    const mine = tinyTrainer({ hooks: [{ name: "mine", monitors: ["eval_loss"] }] });
    await expect(mine.fit()).rejects.toThrow("Hook `mine` watches `eval_loss`");
    mine.hooks.disable("mine");
    expect((await mine.fit()).status).toBe("completed");
  });

  test("what watches the training is fine, and so is a trainer that only evaluates", async () => {
    expect((await tinyTrainer({ schedule: plateau({ monitor: "train/loss" }) }).fit()).status).toBe("completed");
    await tinyTrainer({ schedule: plateau() }).evaluate(evaluates().eval);
    expect((await tinyTrainer({ ...evaluates(), schedule: plateau() }).fit()).status).toBe("completed");
  });
});
