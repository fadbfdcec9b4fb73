// What a hook may say, event by event: the wrong name, field, verb or scope is a compile error.
import type {
  BuiltinEvent,
  ContextOf,
  EventName,
  Hook,
  HostArray,
  HostBatch,
  PipelineEvent,
  TuneEvent,
} from "hookline";
import { Trainer } from "hookline";
import { tinyTrainer } from "hookline/testing";
import { describe, expectTypeOf, test } from "vitest";

const trainer = tinyTrainer();

describe("names", () => {
  test("events of trainer.on", () => {
    trainer.on("stepEnd", (ctx) => void expectTypeOf(ctx).toEqualTypeOf<ContextOf<"stepEnd">>());
    trainer.on("stepEnd", 10, (ctx) => void expectTypeOf(ctx.loss).toBeNumber());
    trainer.on("epochEnd", { every: "2 epochs", atEnd: true }, async () => {});
    // @ts-expect-error -- no such event
    trainer.on("stepEnnd", () => {});
    // @ts-expect-error -- an event, not a method
    trainer.on("onStepEnd", () => {});
    // @ts-expect-error -- no such option of a cadence
    trainer.on("stepEnd", { evry: 10 }, () => {});
    // @ts-expect-error -- the function comes last
    trainer.on("stepEnd", () => {}, 10);
  });

  test("methods of a hook", () => {
    const right: Hook = { name: "right", onStepEnd() {}, async onEpochEnd() {} };
    // @ts-expect-error -- misspelled
    const wrong: Hook = { name: "wrong", onStepEnnd() {} };
    // @ts-expect-error -- the event's name without `on`
    const bare: Hook = { name: "bare", stepEnd() {} };
    // @ts-expect-error -- a hook has a name
    const nameless: Hook = { onStepEnd() {} };
    expectTypeOf([right, wrong, bare, nameless]).toEqualTypeOf<Hook[]>();
  });

  test("settings of a hook", () => {
    const right: Hook = {
      name: "h",
      stage: "logger",
      onError: "warn",
      needs: ["gradNorm"],
      after: ["a"],
      ranks: "main",
    };
    // @ts-expect-error -- no such stage
    const stage: Hook = { name: "h", stage: "first" };
    // @ts-expect-error -- no such policy
    const policy: Hook = { name: "h", onError: "ignore" };
    // @ts-expect-error -- nothing that is computed on demand
    const needs: Hook = { name: "h", needs: ["loss"] };
    // @ts-expect-error -- no such setting
    const setting: Hook = { name: "h", stages: "logger" };
    expectTypeOf([right, stage, policy, needs, setting]).toEqualTypeOf<Hook[]>();
  });
});

describe("probes", () => {
  test("say what to match; activations are where outputs are, and in stepEnd", () => {
    const hook: Hook = {
      name: "probing",
      probes: { match: ["a", "b.*"], collect: "stats", percentiles: [50], replace: (x, name) => x.mul(name.length) },
      onAfterForward: ({ activations }) => void expectTypeOf(activations.names).toEqualTypeOf<readonly string[]>(),
      onStepEnd: ({ activations }) => void expectTypeOf(activations.stats("a").dead).toBeNumber(),
      onEvalBatchEnd: ({ activations }) => void expectTypeOf(activations.get("a")).toEqualTypeOf<HostArray>(),
      // @ts-expect-error -- there are none at the end of an epoch
      onEpochEnd: ({ activations }) => void activations,
    };
    // @ts-expect-error -- statistics or arrays
    const collect: Hook = { name: "h", probes: { match: "a", collect: "both" } };
    // @ts-expect-error -- of which points?
    const match: Hook = { name: "h", probes: { collect: "stats" } };
    expectTypeOf([hook, collect, match]).toEqualTypeOf<Hook[]>();
  });
});

describe("fields", () => {
  test("are those of the event", () => {
    const hook: Hook = {
      name: "fields",
      onStepEnd(ctx) {
        expectTypeOf(ctx.loss).toBeNumber();
        expectTypeOf(ctx.step).toBeNumber();
        expectTypeOf(ctx.totalSteps).toEqualTypeOf<number | undefined>();
        // @ts-expect-error -- there is no batch at hand after the step
        void ctx.batch;
        // @ts-expect-error -- gradients are gone
        void ctx.grads;
      },
      onEvalEnd(ctx) {
        expectTypeOf(ctx.evalMetrics).toEqualTypeOf<Readonly<Record<string, number>>>();
        // @ts-expect-error -- an evaluation has no loss of a step
        void ctx.loss;
      },
      onStepBegin(ctx) {
        expectTypeOf(ctx.lr).toBeNumber();
        // @ts-expect-error -- not computed yet
        void ctx.loss;
      },
      onAfterBackward(ctx) {
        expectTypeOf(ctx.grads.norm()).resolves.toBeNumber();
        expectTypeOf(ctx.batch).toEqualTypeOf<HostBatch>();
      },
      onTrainEnd(ctx) {
        expectTypeOf(ctx.reason).toBeString();
        // @ts-expect-error -- only in exception
        void ctx.error;
      },
      onException(ctx) {
        expectTypeOf(ctx.error).toBeUnknown();
      },
    };
    expectTypeOf(hook).toEqualTypeOf<Hook>();
  });

  test("cannot be assigned", () => {
    trainer.on("stepEnd", (ctx) => {
      // @ts-expect-error -- fields are read; verbs change
      ctx.loss = 0;
      // @ts-expect-error -- metrics are added with ctx.log
      ctx.metrics["val/loss"] = 0;
      ctx.optimizers[0]!.groups[0]!.lr = 0.1;
    });
  });
});

describe("verbs", () => {
  test("are those of the event", () => {
    trainer.on("stepEnd", (ctx) => {
      ctx.stop("enough");
      ctx.setLr((current) => current / 2, "plateau");
      ctx.requestEval();
      // @ts-expect-error -- a stop has a reason
      ctx.stop();
      // @ts-expect-error -- the batch has been used
      ctx.replaceBatch({});
      // @ts-expect-error -- only in evalBegin
      ctx.swapParams({});
    });
    trainer.on("trainEnd", (ctx) => {
      // @ts-expect-error -- the run is over
      ctx.stop("too late");
      ctx.log({ final: 1 });
    });
    trainer.on("evalBegin", (ctx) => ctx.swapParams({}));
  });

  test("skip takes the scopes that are left", () => {
    trainer.on("batchBegin", (ctx) => {
      ctx.skip("batch");
      ctx.skip("step", "bad data");
      ctx.skip("epoch");
      // @ts-expect-error -- no such scope
      ctx.skip("run");
    });
    trainer.on("stepBegin", (ctx) => {
      ctx.skip("step");
      // @ts-expect-error -- there is no batch yet
      ctx.skip("batch");
    });
    trainer.on("stepEnd", (ctx) => {
      ctx.skip("epoch");
      // @ts-expect-error -- the step is done
      ctx.skip("step");
    });
    trainer.on("evalBegin", (ctx) => {
      // @ts-expect-error -- nothing to skip here
      ctx.skip("epoch");
    });
  });
});

describe("batches", () => {
  interface Pair extends HostBatch {
    x: HostArray<Float32Array>;
    y: HostArray<Int32Array>;
  }

  test("a hook typed for its own batches fits a trainer", () => {
    const typed: Hook<Pair> = {
      name: "typed",
      onBatchBegin(ctx) {
        expectTypeOf(ctx.batch.y.data).toEqualTypeOf<Int32Array>();
      },
    };
    trainer.hooks.add(typed);
    expectTypeOf<Hook<Pair>[]>().toExtend<NonNullable<ConstructorParameters<typeof Trainer>[0]["hooks"]>>();
  });

  test("a class instance is a hook", () => {
    class Counter {
      readonly name = "counter";
      steps = 0;
      onStepEnd(ctx: ContextOf<"stepEnd">): void {
        this.steps = ctx.step;
      }
    }
    trainer.hooks.add(new Counter());
    class Wrong {
      readonly name = "wrong";
      onStepEnd(ctx: { nothing: number }): void {
        void ctx;
      }
    }
    // @ts-expect-error -- wants a context that no event has
    trainer.hooks.add(new Wrong());
  });
});

test("every event has a method and a context", () => {
  expectTypeOf<keyof Hook & `on${string}`>().toEqualTypeOf<
    `on${Capitalize<EventName | PipelineEvent | TuneEvent>}` | "onError"
  >();
  expectTypeOf<Extract<keyof Hook, `on${Capitalize<BuiltinEvent>}`>>().toEqualTypeOf<`on${Capitalize<BuiltinEvent>}`>();
  expectTypeOf<ContextOf<BuiltinEvent>["step"]>().toBeNumber();
});
