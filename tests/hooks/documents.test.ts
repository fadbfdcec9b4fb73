// The custom hooks of documents 000, 001 and 004, as they are shown there, in our vocabulary; 003 shows none, and
// document-002.test.ts has the rest. Each does in a run what its document says.
import type { ContextOf, Hook } from "hookline";
import { DataLoader } from "hookline/data";
import { recordTrace, testEngine, tinyData, tinyTrainer } from "hookline/testing";
import { describe, expect, it } from "vitest";
import { capturePrints, poison } from "./samples.ts";

const printed = capturePrints();

const evaluation = () => ({ eval: new DataLoader(tinyData(8, 2), { batchSize: 4 }) });

describe("document 000", () => {
  class HaltOnNan implements Hook {
    readonly name = "haltOnNan";
    onStepEnd(ctx: ContextOf<"stepEnd">): void {
      if (Number.isNaN(ctx.loss)) {
        console.log(`NaN overflow detected at step ${ctx.step}!`);
        ctx.stop("NaN loss");
      }
    }
  }

  it("HaltOnNan stops the run", async () => {
    const result = await tinyTrainer({ hooks: [poison(3), new HaltOnNan()] }).fit();
    expect(result).toMatchObject({ status: "stopped", steps: 3, reason: "NaN loss", requestedBy: "haltOnNan" });
    expect(printed).toEqual(["NaN overflow detected at step 3!"]);
  });

  it("and all other hooks still see that event and the end of the run", async () => {
    const trace = recordTrace({ events: ["stepEnd", "trainEnd", "close"] });
    await tinyTrainer({ hooks: [poison(2), new HaltOnNan(), trace] }).fit();
    expect(trace.names()).toEqual(["stepEnd", "stepEnd", "trainEnd", "close"]);
  });
});

describe("document 001", () => {
  class CustomHook implements Hook {
    readonly name = "my_custom_hook";
    readonly losses: number[] = [];
    onBatchEnd(ctx: ContextOf<"batchEnd">): void {
      this.losses.push(ctx.loss);
      if (ctx.batchIdx % 100 === 0) {
        const sum = this.losses.reduce((a, b) => a + b);
        console.log(`Average loss: ${(sum / this.losses.length).toFixed(4)}`);
      }
    }
  }

  it("CustomHook prints the running average at every hundredth batch", async () => {
    const hook = new CustomHook();
    const trainer = tinyTrainer({ samples: 1000 });
    trainer.hooks.add(hook);
    await trainer.fit();
    expect(hook.losses).toHaveLength(250);
    expect(printed).toHaveLength(3);
    const mean = hook.losses.slice(0, 201).reduce((a, b) => a + b) / 201;
    expect(printed[2]).toBe(`Average loss: ${mean.toFixed(4)}`);
  });

  it("its hooks are managed by name", async () => {
    const trainer = tinyTrainer({ hooks: [new CustomHook()] });
    trainer.hooks.disable("my_custom_hook");
    await trainer.fit();
    expect(printed).toEqual([]);
    trainer.hooks.enable("my_custom_hook");
    expect(trainer.hooks.list()).toMatchObject([{ name: "my_custom_hook", enabled: true }]);
    trainer.hooks.remove("my_custom_hook");
    expect(trainer.hooks.list()).toEqual([]);
  });

  it("what its state dictionary holds is in the context", async () => {
    let seen: object = {};
    const trainer = tinyTrainer();
    trainer.on("stepEnd", { at: [3] }, (ctx) => {
      const { model, optimizers, device, epoch, loss, avgLoss, paramCount, status } = ctx;
      seen = { model, optimizers: optimizers.length, device, epoch, loss, avgLoss, paramCount, status };
    });
    await trainer.fit();
    expect(seen).toMatchObject({ optimizers: 1, device: testEngine(), epoch: 0, paramCount: 4, status: "training" });
    expect(seen).toMatchObject({ model: trainer.options.model, loss: expect.any(Number), avgLoss: expect.any(Number) });
  });
});

describe("document 004", () => {
  class GradHistogramHook implements Hook {
    readonly name = "gradHistogram";
    #norms: Record<string, number> = {};

    // What the document needs a fork of its loop for: the gradients, before they are clipped and gone.
    async onBeforeOptimizerStep(ctx: ContextOf<"beforeOptimizerStep">): Promise<void> {
      this.#norms = await ctx.grads.norms();
    }

    onStepEnd(ctx: ContextOf<"stepEnd">): void {
      const entries = Object.entries(this.#norms);
      if (entries.length > 0) ctx.log(Object.fromEntries(entries.map(([name, norm]) => [`grad_norm/${name}`, norm])));
      this.#norms = {};
    }
  }

  it("GradHistogramHook logs the norms before clipping, at the step they belong to", async () => {
    const logged: Record<string, number>[] = [];
    const trainer = tinyTrainer({ hooks: [new GradHistogramHook()], clipNorm: 1e-3, logEvery: 1 });
    const global: number[] = [];
    trainer.on("gradientClip", (ctx) => void global.push(ctx.gradNorm));
    trainer.on("log", (ctx) => void logged.push({ ...ctx.logged, step: ctx.step }));
    await trainer.fit();
    for (const [i, row] of logged.slice(0, 4).entries()) {
      const { "grad_norm/weight": weight, "grad_norm/bias": bias, step } = row;
      expect(step).toBe(i + 1);
      expect(Math.hypot(weight!, bias!)).toBeCloseTo(global[i]!, 4);
      expect(global[i]).toBeGreaterThan(1e-3);
    }
  });

  it("a hook gets all that its five methods are given", async () => {
    const seen: Record<string, unknown> = {};
    class MyHook implements Hook {
      readonly name = "myHook";
      readonly needs = ["gradNorm"] as const;
      onTrainBegin(ctx: ContextOf<"trainBegin">): void {
        seen["config"] = ctx.config["steps"];
      }
      onStepEnd(ctx: ContextOf<"stepEnd">): void {
        const { step, loss, gradNorm, lr, tokensSeen, model, optimizers } = ctx;
        seen["step"] = { step, loss, gradNorm, lr, tokensSeen, model, optimizers: optimizers.length };
      }
      onEvalEnd(ctx: ContextOf<"evalEnd">): void {
        seen["eval"] = [ctx.evalMetrics["val/loss"], ctx.step];
      }
      onTrainEnd(ctx: ContextOf<"trainEnd">): void {
        seen["end"] = [ctx.step, ctx.tokensSeen];
      }
    }
    const hooks = [new MyHook()];
    const trainer = tinyTrainer({ steps: 4, tokens: (batch) => batch["x"]!.data.length, hooks, ...evaluation() });
    await trainer.fit();
    expect(seen).toEqual({
      config: 4,
      step: {
        step: 4,
        loss: expect.any(Number),
        gradNorm: expect.any(Number),
        lr: 0.1,
        tokensSeen: 48,
        model: trainer.options.model,
        optimizers: 1,
      },
      eval: [expect.any(Number), 4],
      end: [4, 48],
    });
  });
});
