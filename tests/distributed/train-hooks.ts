// The hooks of the tests of training: each does something on one rank, or looks at what came of it.
import { earlyStopping, modelCheckpoint, nanGuard, type Hook, type HostArray } from "hookline";
import { note } from "./notes.ts";

/** Asks on one rank alone, at one step. */
const asks = (hook: Omit<Hook, "name">): Hook => ({ name: "asks", ...hook });
const isAt = (ctx: { rank: number; step: number }, rank: number, step: number): boolean =>
  ctx.rank === rank && ctx.step === step;

const nan = ({ data, shape }: HostArray): HostArray => ({
  data: new Float32Array(data.length).fill(Number.NaN),
  shape,
});

export const HOOKS: Readonly<Record<string, () => Hook>> = {
  rates: () => ({ name: "rates", onStepBegin: (ctx) => ctx.setLr(0.001 * ctx.step) }),
  hookOffOnOne: () => asks({ onStepEnd: (ctx) => isAt(ctx, 1, 5) && ctx.setHook("rates", false) }),
  stopInStepEnd: () => asks({ onStepEnd: (ctx) => isAt(ctx, 1, 7) && ctx.stop("enough") }),
  stopInEpochEnd: () => asks({ onEpochEnd: (ctx) => ctx.rank === 1 && ctx.stop("enough") }),
  stopInLog: () => asks({ ranks: "main", onLog: (ctx) => ctx.step >= 4 && ctx.stop("enough") }),
  stopInEval: () => asks({ onEvalBatchEnd: (ctx) => ctx.rank === 1 && ctx.step >= 4 && ctx.stop("enough") }),
  stopEverywhere: () => asks({ onStepEnd: (ctx) => ctx.step === 7 && ctx.stop("enough") }),
  lrInStepEnd: () => asks({ onStepEnd: (ctx) => isAt(ctx, 1, 5) && ctx.setLr(0.5) }),
  lrInStepBegin: () => asks({ onStepBegin: (ctx) => isAt(ctx, 1, 5) && ctx.setLr((lr) => lr / 2) }),
  lrBeforeUpdate: () => asks({ ranks: "main", onBeforeOptimizerStep: (ctx) => ctx.step === 5 && ctx.setLr(0.5) }),
  lrOfGroup: () =>
    asks({
      onBatchBegin(ctx) {
        if (isAt(ctx, 1, 5)) ctx.optimizers[0]!.groups[0]!.lr = 0.5;
      },
    }),
  accumulateOnMain: () => asks({ ranks: "main", onStepBegin: (ctx) => ctx.step === 3 && ctx.setAccumulate(2) }),
  freezeOnOne: () => asks({ onStepBegin: (ctx) => isAt(ctx, 1, 3) && ctx.setTrainable("2.") }),
  changesOnMain: () =>
    asks({
      ranks: "main",
      onStepEnd(ctx) {
        if (ctx.step !== 5) return;
        ctx.setLr(0.5);
        ctx.requestEval();
      },
    }),
  /** The same during a pause, which begins on one rank and lasts for PAUSE_MS. */
  pausesOnMain: () =>
    asks({
      ranks: "main",
      onStepEnd: (ctx) => ctx.step === 5 && ctx.pause("to look"),
      onPause(ctx) {
        note("paused", { elapsed: ctx.elapsed });
        setTimeout(() => ctx.wake(), Number(process.env["PAUSE_MS"])).unref();
      },
      onCommand(ctx) {
        ctx.setLr(0.5);
        ctx.requestEval();
        ctx.continue();
      },
      onTrainEnd: (ctx) => note("over", { elapsed: ctx.elapsed }),
    }),
  skipInStepBegin: () => asks({ onStepBegin: (ctx) => isAt(ctx, 1, 3) && ctx.skip("step") }),
  skipBeforeFetch: () => asks({ onBeforeFetch: (ctx) => isAt(ctx, 1, 3) && ctx.skip("step") }),
  skipInBatch: () => asks({ onAfterBackward: (ctx) => isAt(ctx, 0, 3) && ctx.skip("step") }),
  skipBeforeUpdate: () => asks({ onBeforeOptimizerStep: (ctx) => isAt(ctx, 1, 3) && ctx.skip("step") }),
  skipBatch: () => asks({ onBatchBegin: (ctx) => isAt(ctx, 1, 3) && ctx.skip("batch") }),
  skipBatchLater: () => ({
    name: "later",
    onBatchBegin: (ctx) => isAt(ctx, 1, 4) && ctx.skip("batch"),
  }),
  skipEpoch: () => asks({ onStepEnd: (ctx) => isAt(ctx, 1, 3) && ctx.skip("epoch") }),
  evalOnOne: () => asks({ onStepEnd: (ctx) => isAt(ctx, 1, 3) && ctx.requestEval() }),
  saveOnOne: () => asks({ onStepEnd: (ctx) => isAt(ctx, 1, 3) && ctx.requestSave("mine") }),
  rollbackOnOne: () =>
    asks({
      onStepEnd(ctx) {
        if (ctx.step === 3) ctx.requestSave("mine");
        if (isAt(ctx, 1, 6)) ctx.rollback(undefined, "a bad turn");
      },
    }),
  nanOnOne: () =>
    asks({ onBatchBegin: (ctx) => isAt(ctx, 1, 3) && ctx.replaceBatch({ ...ctx.batch, x: nan(ctx.batch.x!) }) }),
  nanGuard: () => nanGuard({ action: "skip" }),
  earlyStopping: () => earlyStopping({ monitor: "val/loss", patience: 1, minDelta: 10 }),
  checkpoints: () => modelCheckpoint({ every: 4, saveLast: 3 }),
  slow: () => ({ name: "slow", onStepEnd: () => new Promise((resolve) => void setTimeout(resolve, 1)) }),
  checkpointsOften: () => modelCheckpoint({ every: 10, saveLast: 2 }),
  throwsOnOne: () =>
    asks({
      onStepEnd(ctx) {
        if (isAt(ctx, 1, 3)) throw new Error("a mistake of mine");
      },
    }),
  throwsOnAll: () =>
    asks({
      onStepEnd(ctx) {
        if (ctx.step === 3) throw new Error("a mistake of all");
      },
    }),
  /** Takes long to save after a failure: longer than a rank waits for the first word of the main one. */
  slowToSave: () => {
    let failed = false;
    return {
      name: "slowToSave",
      onException: () => void (failed = true),
      state: async () => {
        if (failed) await new Promise((resolve) => void setTimeout(resolve, 4000));
        return { json: failed };
      },
      load: () => undefined,
    };
  },
  lossOnMain: () => asks({ ranks: "main", onStepEnd: (ctx) => ctx.setLoss(() => undefined as never) }),
  changesOne: () =>
    asks({
      async onStepEnd(ctx) {
        if (!isAt(ctx, 1, 5)) return;
        const params = Object.fromEntries(
          await Promise.all(ctx.params.names.map(async (name) => [name, await ctx.params.get(name)] as const)),
        );
        params["2.bias"]!.data[0]! += 1;
        ctx.setParams(params);
      },
    }),
};
