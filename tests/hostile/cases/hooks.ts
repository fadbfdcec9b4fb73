// Hooks: what cannot be registered, and what a hook may not do while the run goes on.
import {
  ContextError,
  DataError,
  HookError,
  HookRegistrationError,
  OptionError,
  ProgramError,
  type Hook,
} from "hookline";
import * as nn from "hookline/nn";
import * as optim from "hookline/optim";
import { during, fit, four, loader, trainer, wrong, type Case, type Cases } from "./case.ts";

const unfit = (hooks: readonly unknown[], ...says: string[]): Case => ({
  run: () => trainer({ hooks }),
  error: HookRegistrationError,
  says,
});
/** An error of hook `h` at an event, with a cause of its own class. */
const inHook = (run: () => unknown, cause: Case["cause"], ...says: string[]): Case => ({
  run,
  error: HookError,
  ...(cause && { cause }),
  says: ["Hook `h` failed in", "at step", ...says],
});
const evaluated = { eval: loader() };

export const hooks: Cases = {
  "hook: a string": unfit(["progress"], "object with a `name`", "string"),
  "hook: null": unfit([null], "object with a `name`", "null"),
  "hook: a factory not called": unfit([function earlyStopping() {}], "object with a `name`", "earlyStopping()"),
  "hook: no name": unfit([{ onStepEnd() {} }], "needs a `name`"),
  "hook: misspelled method": unfit(
    [{ name: "a", onStepEnded() {} }],
    "`a`",
    "`onStepEnded`",
    "Did you mean `onStepEnd`?",
  ),
  "hook: method in lower case": unfit([{ name: "a", onstepEnd() {} }], "`onstepEnd`", "Did you mean `onStepEnd`?"),
  "hook: method of another system": unfit([{ name: "a", onBatchStart() {} }], "`onBatchStart`", "no such event"),
  "hook: Python's spelling": unfit([{ name: "a", on_step_end() {} }], "`on_step_end`", "Did you mean `onStepEnd`?"),
  "hook: method that is no function": unfit([{ name: "a", onStepEnd: 3 }], "`a`", "`onStepEnd`", "function"),
  "hook: the same name twice": unfit([{ name: "a" }, { name: "a" }], "already a hook named `a`", "replace: true"),
  "hook: a cycle": unfit(
    [
      { name: "a", after: "b" },
      { name: "b", after: "a" },
    ],
    "cycle",
    "a → b → a",
    "`before`/`after`",
  ),
  "hook: after nobody": unfit(
    [{ name: "early" }, { name: "b", after: "erly" }],
    "`b`",
    "after `erly`",
    "Did you mean `early`?",
  ),
  "hook: wrong stage": {
    run: () => trainer({ hooks: [{ name: "a", stage: "users" }] }),
    error: OptionError,
    says: ["Hook `a`", "`stage`", '"user"'],
  },
  "hook: wrong needs": {
    run: () => trainer({ hooks: [{ name: "a", needs: ["gradnorm"] }] }),
    error: OptionError,
    says: ["Hook `a`", "`needs`", '"gradNorm"'],
  },
  "hooks.remove: nobody": {
    run: () => trainer().hooks.remove("x"),
    error: HookRegistrationError,
    says: ["No hook is named `x`"],
  },
  "emit: unknown event": {
    run: () => wrong<{ emit(e: string): void }>(trainer()).emit("drift"),
    error: HookRegistrationError,
    says: ["`drift`", "defineEvent"],
  },
  "emit: an event of the loop": {
    run: () => wrong<{ emit(e: string): void }>(trainer()).emit("stepEnd"),
    error: HookRegistrationError,
    says: ["`stepEnd`", "only the loop fires it"],
  },

  "hook throws an error": inHook(
    () =>
      during("stepEnd", () => {
        throw new RangeError("boom");
      }),
    RangeError,
    "RangeError: boom",
  ),
  "hook throws a string": inHook(
    () =>
      during("stepEnd", () => {
        throw wrong<Error>("boom");
      }),
    undefined,
    "boom",
  ),
  "hook throws undefined": inHook(
    () =>
      during("stepEnd", () => {
        throw wrong<Error>(undefined);
      }),
    undefined,
    "undefined",
  ),
  "hook throws an object": inHook(
    () =>
      during("stepEnd", () => {
        throw wrong<Error>({ code: 3 });
      }),
    undefined,
    "code",
  ),
  "hook rejects with null": inHook(
    () => during("stepEnd", () => Promise.reject(wrong<Error>(null))),
    undefined,
    "null",
  ),

  "setLr: NaN": inHook(() => during("stepEnd", (ctx) => ctx.setLr(Number.NaN)), ContextError, "learning rate", "NaN"),
  "setLr: a string": inHook(
    () => during("stepEnd", (ctx) => ctx.setLr(wrong("0.1"))),
    ContextError,
    "learning rate",
    '"0.1"',
  ),
  "momentum on sgd without": inHook(
    () => during("stepEnd", (ctx) => void (ctx.optimizers[0]!.groups[0]!.momentum = 0.9)),
    ContextError,
    "this sgd has no momentum",
  ),
  "momentum on adam": inHook(
    () => during("stepEnd", (ctx) => void (ctx.optimizers[0]!.groups[0]!.momentum = 0.9), { optimizer: optim.adam() }),
    ContextError,
    "adam",
    "momentum",
  ),
  "weightDecay: NaN": inHook(
    () => during("stepEnd", (ctx) => void (ctx.optimizers[0]!.groups[0]!.weightDecay = Number.NaN)),
    ContextError,
    "weightDecay",
    "NaN",
  ),
  "swapParams: wrong names": inHook(
    () =>
      during(
        "evalBegin",
        (ctx) => ctx.swapParams({ wieght: four.x, bias: { data: new Float32Array(1), shape: [1] } }),
        evaluated,
      ),
    DataError,
    "evalBegin",
    "weight",
  ),
  "swapParams: one name too many": inHook(
    () =>
      during(
        "evalBegin",
        async (ctx) => {
          const [weight, bias] = [await ctx.params.get("weight"), await ctx.params.get("bias")];
          ctx.swapParams({ weight, bias, baes: bias });
        },
        evaluated,
      ),
    DataError,
    "evalBegin",
    "baes",
  ),
  "swapParams: wrong shape": inHook(
    () =>
      during(
        "evalBegin",
        async (ctx) => ctx.swapParams({ weight: await ctx.params.get("weight"), bias: four.x }),
        evaluated,
      ),
    DataError,
    "`bias`",
    "[4, 3]",
    "[1]",
  ),
  "swapParams: outside evalBegin": inHook(
    () => during("stepEnd", (ctx) => wrong<{ swapParams(p: object): void }>(ctx).swapParams({})),
    ContextError,
    "swapParams",
    "`stepEnd`",
    "evalBegin",
  ),
  "params.get: unknown": inHook(
    () => during("stepEnd", (ctx) => ctx.params.get("wieght")),
    DataError,
    "`wieght`",
    "Did you mean `weight`?",
  ),
  "grads: in the wrong event": inHook(
    () => during("stepEnd", (ctx) => wrong<{ grads: { norm(): Promise<number> } }>(ctx).grads.norm()),
    ContextError,
    "no gradients in `stepEnd`",
    "onBeforeOptimizerStep",
  ),
  "gradNorm: not asked for": inHook(
    () => during("stepEnd", (ctx) => ctx.gradNorm),
    ContextError,
    'needs: ["gradNorm"]',
  ),
  "outputs: not asked for": inHook(() => during("batchEnd", (ctx) => ctx.outputs), ContextError, 'needs: ["outputs"]'),
  "skip: unknown scope": inHook(
    () => during("stepBegin", (ctx) => ctx.skip(wrong("stp"))),
    ContextError,
    '"stp"',
    '"step"',
  ),
  "skip: too late": inHook(
    () => during("stepEnd", (ctx) => wrong<{ skip(s: string): void }>(ctx).skip("step")),
    ContextError,
    "too late in `stepEnd`",
    "stepBegin",
  ),
  "stop: no reason": inHook(
    () => during("stepEnd", (ctx) => wrong<{ stop(): void }>(ctx).stop()),
    ContextError,
    "reason",
  ),
  "log: a string": inHook(
    () => during("stepEnd", (ctx) => ctx.log({ note: wrong("good") })),
    ContextError,
    "`note`",
    "numbers",
  ),
  "log: nothing": inHook(() => during("stepEnd", (ctx) => wrong<{ log(): void }>(ctx).log()), ContextError, "log"),
  "scaleLoss: NaN": inHook(
    () => during("batchBegin", (ctx) => ctx.scaleLoss(Number.NaN)),
    ContextError,
    "scaleLoss",
    "NaN",
  ),
  "setAccumulate: 0": inHook(
    () => during("stepEnd", (ctx) => ctx.setAccumulate(0)),
    ContextError,
    "setAccumulate",
    "≥ 1",
  ),
  "setLoss: a string": inHook(
    () => during("stepEnd", (ctx) => ctx.setLoss(wrong("mse"))),
    ContextError,
    "setLoss",
    '"mse"',
  ),
  "setTrainable: nothing": inHook(
    () => during("stepEnd", (ctx) => ctx.setTrainable("nothing")),
    ContextError,
    "no parameter",
    "weight, bias",
  ),
  "replaceBatch: not arrays": inHook(
    () => during("batchBegin", (ctx) => ctx.replaceBatch(wrong({ x: 3 }))),
    DataError,
    "`x`",
  ),
  "replaceBatch: null": inHook(
    () => during("batchBegin", (ctx) => ctx.replaceBatch(wrong(null))),
    DataError,
    "replaceBatch",
    "null",
  ),
  "a verb after its event": {
    async run() {
      let failure: unknown;
      const late: Hook = {
        name: "h",
        onStepEnd: (ctx) =>
          void setImmediate(() => {
            try {
              ctx.stop("late");
            } catch (error) {
              failure = error;
            }
          }),
      };
      await fit({ hooks: [late] });
      await new Promise((resolve) => setImmediate(resolve));
      throw failure;
    },
    error: ContextError,
    says: ["`h`", "ctx.stop", "after its event had ended", "AbortSignal"],
  },

  "evaluate in a hook": inHook(
    () => nested((t) => t.evaluate(loader())),
    ContextError,
    "evaluate()",
    "fit() is running",
    "ctx.requestEval()",
  ),
  "fit in a hook": inHook(() => nested((t) => t.fit()), ContextError, "fit()", "fit() is running"),
  "predict in a hook": inHook(() => nested((t) => t.predict(loader())), ContextError, "predict()", "fit() is running"),
  "loadStateDict in a hook": inHook(
    () => nested(async (t) => t.loadStateDict(await t.stateDict())),
    ContextError,
    "loadStateDict",
    "fit() is running",
  ),
  "close in a hook": inHook(() => nested((t) => t.close()), ContextError, "close()", "fit() is running"),
  "fit twice at once": {
    async run() {
      const t = trainer();
      const first = t.fit();
      await Promise.all([first, t.fit()]).finally(() => first);
    },
    error: ContextError,
    says: ["fit() was called while fit() is running"],
  },
  "setLoss on a model with its own": {
    run: () =>
      during("stepEnd", (ctx) => ctx.setLoss(nn.mse()), {
        model: {
          params: { w: { data: new Float32Array(1), shape: [] } },
          loss: (p: { w: { ref: { mul(x: unknown): unknown } } & object }) => p.w.ref.mul(p.w),
        },
        loss: undefined,
      }),
    error: ProgramError,
    says: ["setLoss", "{ params, loss }"],
  },
};

/** A run in which a hook calls the trainer that runs it. */
function nested(act: (t: ReturnType<typeof trainer>) => Promise<unknown>): Promise<unknown> {
  const t = trainer();
  t.hooks.add({ name: "h", onStepEnd: async () => void (await act(t)) });
  return t.fit();
}
