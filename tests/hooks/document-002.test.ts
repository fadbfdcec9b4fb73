// The custom hooks of document 002, as they are shown there, in our vocabulary: each does in a run what the document says.
import { sharedKey, type ContextOf, type Hook, type HookState, type LiveOptimizer } from "hookline";
import { DataLoader } from "hookline/data";
import { recordTrace, replay, testContext, tinyData, tinyTrainer } from "hookline/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { schedule } from "../../src/hooks/schedule.ts";
import { webhook } from "../../src/hooks/webhook.ts";
import { when } from "../../src/hooks/when.ts";
import { noticeServer } from "../support/notice-server.ts";
import { capturePrints, poison } from "./samples.ts";

const printed = capturePrints();

const evaluation = () => ({ eval: new DataLoader(tinyData(8, 2), { batchSize: 4 }) });

/** Counts batches of high loss, and halves the learning rate when there are too many. */
class MyCustomHook implements Hook {
  readonly name = "myCustomHook";
  readonly threshold: number;
  highLossCount = 0;
  startTime: number | undefined;
  epochStartTime: number | undefined;
  bestAccuracy = 0;

  constructor(threshold = 10) {
    this.threshold = threshold;
  }

  onTrainBegin(): void {
    console.log("Training started!");
    this.startTime = Date.now();
  }

  onEpochBegin(ctx: ContextOf<"epochBegin">): void {
    console.log(`Starting epoch ${ctx.epoch}`);
    this.epochStartTime = Date.now();
  }

  onBatchEnd(ctx: ContextOf<"batchEnd">): void {
    if (ctx.loss > this.threshold) {
      this.highLossCount++;
      console.log(`High loss detected: ${ctx.loss.toFixed(4)}`);
      if (this.highLossCount > 10) {
        console.log("Too many high loss batches, reducing learning rate");
        for (const optimizer of ctx.optimizers) {
          for (const group of optimizer.groups) group.lr *= 0.5;
        }
      }
    }
  }

  onEvalEnd(ctx: ContextOf<"evalEnd">): void {
    console.log(`Validation metrics: ${JSON.stringify(ctx.evalMetrics)}`);
    const accuracy = ctx.evalMetrics["val/accuracy"];
    if (accuracy !== undefined) {
      console.log(`Accuracy improvement: ${(accuracy - this.bestAccuracy).toFixed(4)}`);
      this.bestAccuracy = Math.max(this.bestAccuracy, accuracy);
    }
  }

  onTrainEnd(): void {
    console.log(`Training completed in ${((Date.now() - this.startTime!) / 1000).toFixed(2)} seconds`);
  }
}

describe("MyCustomHook", () => {
  it("halves the learning rate, again and again, after ten batches of high loss", async () => {
    const result = await tinyTrainer({ steps: 12, hooks: [new MyCustomHook(-1)], ...evaluation() }).fit();
    expect(result.interventions).toMatchObject([
      { who: "myCustomHook", event: "batchEnd", step: 11 },
      { who: "myCustomHook", event: "batchEnd", step: 12 },
    ]);
    expect(printed[0]).toBe("Training started!");
    expect(printed.filter((line) => line.startsWith("Starting epoch"))).toHaveLength(3);
    expect(printed.filter((line) => line.startsWith("High loss detected"))).toHaveLength(12);
    expect(printed.filter((line) => line.startsWith("Validation metrics: {"))).toHaveLength(3);
    expect(printed.at(-1)).toMatch(/^Training completed in \d+\.\d\d seconds$/);
  });

  it("the halved rate is what later steps use", async () => {
    const rates: number[] = [];
    const trainer = tinyTrainer({ steps: 13, hooks: [new MyCustomHook(-1)] });
    trainer.on("stepEnd", (ctx) => void rates.push(ctx.lr));
    await trainer.fit();
    expect(rates.slice(9)).toEqual([0.1, 0.1, 0.05, 0.025]);
  });

  /** As the document's test makes them: a mock with one group. */
  const mockOptimizers = (): LiveOptimizer[] => [
    {
      name: "adam",
      groups: [{ name: "all", params: [], lr: 0.001, scheduledLr: 0, weightDecay: 0, momentum: undefined }],
      updates: 0,
      state: async () => ({}),
    },
  ];

  it("passes the document's own test", () => {
    const optimizers = mockOptimizers();
    const hook = new MyCustomHook(5);
    hook.onTrainBegin();
    expect(hook.startTime).toBeDefined();
    hook.onBatchEnd(testContext("batchEnd", { loss: 15, optimizers }).ctx);
    expect(hook.highLossCount).toBe(1);
    for (let i = 0; i < 10; i++) hook.onBatchEnd(testContext("batchEnd", { loss: 15, optimizers }).ctx);
    expect(optimizers[0]!.groups[0]!.lr).toBeLessThan(0.001);
  });

  it("and the same against a recorded run", async () => {
    const trace = recordTrace({ events: ["trainBegin", "epochBegin", "batchEnd", "evalEnd", "trainEnd"] });
    await tinyTrainer({ epochs: 3, hooks: [trace], ...evaluation() }).fit();
    const optimizers = mockOptimizers();
    const made = trace.entries.map(({ event, fields }) => ({ event, fields: { ...fields, loss: 15, optimizers } }));
    const hook = new MyCustomHook(5);
    expect(await replay(made, hook)).toEqual([]);
    expect(hook.highLossCount).toBe(12);
    expect(optimizers[0]!.groups[0]!.lr).toBe(0.001 / 4);
  });
});

describe("advanced usage", () => {
  class StatefulHook implements Hook {
    readonly name = "statefulHook";
    batchLosses: number[] = [];
    epochLosses: number[] = [];

    onBatchEnd(ctx: ContextOf<"batchEnd">): void {
      this.batchLosses.push(ctx.loss);
    }

    onEpochEnd(): void {
      this.epochLosses.push(this.batchLosses.reduce((a, b) => a + b) / this.batchLosses.length);
      this.batchLosses = [];
      if (this.epochLosses.length > 5) {
        const recent = this.epochLosses.slice(-5);
        if (Math.max(...recent) - Math.min(...recent) < 0.001) console.log("Training plateau detected!");
      }
    }

    state(): HookState {
      return { json: { batchLosses: this.batchLosses, epochLosses: this.epochLosses } };
    }

    load({ json }: HookState): void {
      Object.assign(this, json);
    }
  }

  it("StatefulHook notices a plateau, and what it knows can be saved", async () => {
    const hook = new StatefulHook();
    await tinyTrainer({ epochs: 100, hooks: [hook] }).fit();
    expect(hook.epochLosses).toHaveLength(100);
    expect(printed.length).toBeGreaterThan(0);
    expect(new Set(printed)).toEqual(new Set(["Training plateau detected!"]));
    const again = new StatefulHook();
    again.load(JSON.parse(JSON.stringify(hook.state())) as HookState);
    expect(again.epochLosses).toEqual(hook.epochLosses);
  });

  it("ProducerHook and ConsumerHook talk through `shared`", async () => {
    const hookData = sharedKey<{ readonly importantMetric: number }>("hookData");
    class ProducerHook implements Hook {
      readonly name = "producer";
      onEpochEnd(ctx: ContextOf<"epochEnd">): void {
        ctx.shared.set(hookData, { importantMetric: 0.95 });
      }
    }
    class ConsumerHook implements Hook {
      readonly name = "consumer";
      // The document relies on the order of registration; said, it cannot be got wrong.
      readonly after = "producer";
      onEpochEnd(ctx: ContextOf<"epochEnd">): void {
        const data = ctx.shared.get(hookData);
        if (data) console.log(`Received metric: ${data.importantMetric}`);
      }
    }
    await tinyTrainer({ hooks: [new ConsumerHook(), new ProducerHook()] }).fit();
    expect(printed).toEqual(["Received metric: 0.95"]);
  });

  class ConditionalHook implements Hook {
    readonly name = "conditional";
    readonly enableAfterEpoch: number;
    enabled = false;
    readonly analysed: number[] = [];

    constructor(enableAfterEpoch = 10) {
      this.enableAfterEpoch = enableAfterEpoch;
    }

    onEpochBegin(ctx: ContextOf<"epochBegin">): void {
      if (ctx.epoch >= this.enableAfterEpoch) this.enabled = true;
    }

    onBatchEnd(ctx: ContextOf<"batchEnd">): void {
      if (!this.enabled) return;
      this.analysed.push(ctx.epoch);
    }
  }

  it("ConditionalHook works from its epoch on", async () => {
    const hook = new ConditionalHook(2);
    await tinyTrainer({ epochs: 3, hooks: [hook] }).fit();
    expect(hook.analysed).toEqual([2, 2, 2, 2]);
  });

  it("and so does any hook inside `when`, or inside `schedule`", async () => {
    const [first, second]: number[][] = [[], []];
    const analyse = (name: string, into: number[]): Hook => ({ name, onBatchEnd: (ctx) => void into.push(ctx.epoch) });
    await tinyTrainer({
      epochs: 3,
      hooks: [
        when((ctx) => ctx.epoch >= 2, analyse("first", first!)),
        schedule({ from: "2 epochs" }, analyse("second", second!)),
      ],
    }).fit();
    expect(first).toEqual([2, 2, 2, 2]);
    expect(second).toEqual(first);
  });

  class SlackNotificationHook implements Hook {
    readonly name = "slack";
    readonly webhookUrl: string;
    readonly notifyOn: readonly string[];
    bestMetric = Infinity;

    constructor(webhookUrl: string, notifyOn: readonly string[] = ["trainEnd", "bestModel"]) {
      this.webhookUrl = webhookUrl;
      this.notifyOn = notifyOn;
    }

    async onEvalEnd(ctx: ContextOf<"evalEnd">): Promise<void> {
      const valLoss = ctx.evalMetrics["val/loss"] ?? Infinity;
      if (valLoss < this.bestMetric) {
        this.bestMetric = valLoss;
        if (this.notifyOn.includes("bestModel"))
          await this.#send(`New best model! Epoch ${ctx.epoch}, Loss: ${valLoss.toFixed(4)}`);
      }
    }

    async onTrainEnd(): Promise<void> {
      if (this.notifyOn.includes("trainEnd"))
        await this.#send(`Training completed! Best loss: ${this.bestMetric.toFixed(4)}`);
    }

    async #send(text: string): Promise<void> {
      try {
        const signal = AbortSignal.timeout(10_000);
        await fetch(this.webhookUrl, { method: "POST", body: JSON.stringify({ text }), signal });
      } catch (error) {
        console.log(`Warning: Failed to send webhook notification: ${String(error)}`);
      }
    }
  }

  it("SlackNotificationHook posts each new best loss and the end; the built-in does so without holding up the run", async () => {
    const server = await noticeServer();
    onTestFinished(() => server.close());
    const builtIn = webhook({
      url: `${server.url}built-in`,
      on: ["trainEnd", "bestModel"],
      monitor: "val/loss",
      template: ({ event, epoch, best }) => ({
        text:
          event === "bestModel"
            ? `New best model! Epoch ${epoch}, Loss: ${best!.value.toFixed(4)}`
            : `Training completed! Best loss: ${best!.value.toFixed(4)}`,
      }),
      allowHttp: true,
      allowPrivate: true,
    });
    const hooks = [new SlackNotificationHook(`${server.url}own`), builtIn];
    await tinyTrainer({ epochs: 2, hooks, ...evaluation() }).fit();
    const bodies = (path: string) => server.received.filter((each) => each.path === path).map(({ body }) => body);
    expect(bodies("/own")).toEqual([
      expect.stringMatching(/^\{"text":"New best model! Epoch 0, Loss: \d+\.\d{4}"\}$/),
      expect.stringMatching(/^\{"text":"New best model! Epoch 1, Loss: \d+\.\d{4}"\}$/),
      expect.stringMatching(/^\{"text":"Training completed! Best loss: \d+\.\d{4}"\}$/),
    ]);
    expect(bodies("/built-in")).toEqual(bodies("/own"));
    expect(printed).toEqual([]);
  });

  class DebugHook implements Hook {
    readonly name = "debugHook";
    readonly breakOnNan: boolean;
    readonly logShapes: boolean;
    breaks = 0;

    constructor({ breakOnNan = true, logShapes = false } = {}) {
      this.breakOnNan = breakOnNan;
      this.logShapes = logShapes;
    }

    onBatchBegin(ctx: ContextOf<"batchBegin">): void {
      if (!this.logShapes) return;
      for (const [name, { shape }] of Object.entries(ctx.batch))
        console.log(`Batch item ${name} shape: ${shape.join(" × ")}`);
    }

    async onAfterBackward(ctx: ContextOf<"afterBackward">): Promise<void> {
      for (const [name, { nonFinite }] of Object.entries(await ctx.grads.stats())) {
        if (nonFinite > 0) {
          console.log(`NaN gradient detected in ${name}`);
          if (this.breakOnNan) this.#break();
        }
      }
    }

    onBatchEnd(ctx: ContextOf<"batchEnd">): void {
      if (Number.isNaN(ctx.loss)) {
        console.log(`NaN loss at batch ${ctx.batchIdx}`);
        if (this.breakOnNan) this.#break();
      }
    }

    /** Stands for a `debugger` statement. */
    #break(): void {
      this.breaks++;
    }
  }

  it("DebugHook shows shapes, and NaN gradients and losses by name", async () => {
    const hook = new DebugHook({ logShapes: true });
    await tinyTrainer({ steps: 2, hooks: [poison(2), hook] }).fit();
    const shapes = ["Batch item x shape: 4 × 3", "Batch item y shape: 4 × 1"];
    const gradients = ["NaN gradient detected in weight", "NaN gradient detected in bias"];
    expect(printed.slice(0, 4)).toEqual([...shapes, ...shapes]);
    expect(printed.slice(4).toSorted()).toEqual([...gradients, "NaN loss at batch 1"].sort());
    expect(hook.breaks).toBe(3);
  });
});

describe("best practices", () => {
  class ConfigurableHook implements Hook {
    readonly name = "configurable";
    readonly enabled: boolean;
    readonly frequency: number;
    readonly verbose: boolean;
    readonly ran: number[] = [];

    constructor({ enabled = true, frequency = 100, verbose = false } = {}) {
      this.enabled = enabled;
      this.frequency = frequency;
      this.verbose = verbose;
    }

    shouldRun(step: number): boolean {
      return this.enabled && step % this.frequency === 0;
    }

    onStepEnd(ctx: ContextOf<"stepEnd">): void {
      if (!this.shouldRun(ctx.step)) return;
      this.ran.push(ctx.step);
      if (this.verbose) console.log(`step ${ctx.step}`);
    }
  }

  it("ConfigurableHook runs at its frequency; a cadence does the same without an `if`", async () => {
    const hook = new ConfigurableHook({ frequency: 3, verbose: true });
    const off = Object.assign(new ConfigurableHook({ enabled: false }), { name: "off" });
    const trainer = tinyTrainer({ steps: 10, hooks: [hook, off] });
    const same: number[] = [];
    trainer.on("stepEnd", { every: 3 }, (ctx) => void same.push(ctx.step));
    await trainer.fit();
    expect(hook.ran).toEqual([3, 6, 9]);
    expect(same).toEqual(hook.ran);
    expect(off.ran).toEqual([]);
    expect(printed).toEqual(["step 3", "step 6", "step 9"]);
  });

  class RobustHook implements Hook {
    readonly name: string = "robust";

    onBatchEnd(ctx: ContextOf<"batchEnd">): void {
      try {
        this.processMetrics();
      } catch (error) {
        console.log(`Hook error (non-fatal): ${(error as Error).message}`);
        if (ctx.config["debug"]) console.log((error as Error).stack);
      }
    }

    processMetrics(): void {
      throw new Error("no disk");
    }
  }

  class LessRobustHook extends RobustHook {
    override readonly name = "lessRobust";
    readonly onError = "warn";
    override onBatchEnd(): void {
      this.processMetrics();
    }
  }

  it("RobustHook keeps its errors to itself; `onError` does so for any hook, and they are counted", async () => {
    const warnings: string[] = [];
    const result = await tinyTrainer({
      hooks: [new RobustHook(), new LessRobustHook()],
      warn: (message) => void warnings.push(message),
    }).fit();
    expect(result.status).toBe("completed");
    expect(printed).toEqual(Array.from({ length: 4 }, () => "Hook error (non-fatal): no disk"));
    expect(result.hookErrorCount).toBe(4);
    expect(warnings[0]).toBe("Hook `lessRobust` failed in `batchEnd` at step 1: Error: no disk");
  });

  class EfficientHook implements Hook {
    readonly name = "efficient";
    readonly sampleRate: number;
    analysed = 0;

    constructor(sampleRate = 0.1) {
      this.sampleRate = sampleRate;
    }

    onBatchEnd(): void {
      if (Math.random() > this.sampleRate) return;
      this.analysed++;
    }
  }

  it("EfficientHook looks at a sample; a cadence samples too, the same steps in every run", async () => {
    const steps = async (): Promise<number[]> => {
      const sampled: number[] = [];
      const trainer = tinyTrainer({ steps: 500, hooks: [new EfficientHook()] });
      trainer.on("batchEnd", { sample: 0.1 }, (ctx) => void sampled.push(ctx.step));
      await trainer.fit();
      const { analysed } = trainer.hooks.get("efficient") as EfficientHook;
      // Five standard deviations either way.
      for (const count of [analysed, sampled.length]) expect(Math.abs(count - 50)).toBeLessThan(34);
      return sampled;
    };
    expect(await steps()).toEqual(await steps());
  });

  it("a class is registered as it is, before or after the trainer is made", async () => {
    class AutoRegisteredHook implements Hook {
      readonly name = "autoRegistered";
      onEpochEnd(ctx: ContextOf<"epochEnd">): void {
        console.log(`Epoch ${ctx.epoch} completed`);
      }
    }
    const trainer = tinyTrainer({ epochs: 2 });
    trainer.hooks.add(new AutoRegisteredHook());
    await trainer.fit();
    expect(printed).toEqual(["Epoch 0 completed", "Epoch 1 completed"]);
  });
});
