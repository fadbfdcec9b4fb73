// What an optimizer keeps for each parameter, read by hooks when they ask.
import type { Hook, HostTensors } from "hookline";
import { linear, sequential, tanh } from "hookline/nn";
import { adam, sgd } from "hookline/optim";
import { tinyTrainer, type TinyOptions } from "hookline/testing";
import { describe, expect, it } from "vitest";
import { asyncEngine } from "../support/engines.ts";

const model = sequential(linear(3, 2), tanh(), linear(2, 1));

async function statesOf(options: TinyOptions, params?: string): Promise<Readonly<Record<string, HostTensors>>[]> {
  const seen: Readonly<Record<string, HostTensors>>[] = [];
  const look: Hook = {
    name: "look",
    async onTrainBegin(ctx) {
      for (const optimizer of ctx.optimizers) seen.push(await optimizer.state(params));
    },
    async onStepEnd(ctx) {
      for (const optimizer of ctx.optimizers) seen.push(await optimizer.state(params));
    },
  };
  await using trainer = tinyTrainer({ model, steps: 2, ...options, hooks: [look] });
  await trainer.fit();
  return seen;
}

describe("ctx.optimizers[0].state()", () => {
  const optimizer = adam({ lr: 0.01, betas: [0.9, 0.99] });

  it("is Adam's moments of the gradients so far", async () => {
    const grads: HostTensors[] = [];
    const note: Hook = {
      name: "note",
      async onBeforeOptimizerStep(ctx) {
        grads.push({ "0.weight": await ctx.grads.get("0.weight") });
      },
    };
    await using trainer = tinyTrainer({ model, steps: 2, optimizer, hooks: [note] });
    await trainer.fit();
    const [before, , second] = await statesOf({ optimizer });
    expect(Object.keys(before!)).toEqual(["exp_avg", "exp_avg_sq"]);
    expect(Object.keys(before!["exp_avg"]!)).toEqual(["0.weight", "0.bias", "2.weight", "2.bias"]);
    expect([...before!["exp_avg"]!["0.weight"]!.data]).toEqual([0, 0, 0, 0, 0, 0]);
    const [first, then] = grads.map((each) => [...each["0.weight"]!.data]);
    const { data, shape } = second!["exp_avg"]!["0.weight"]!;
    expect(shape).toEqual([2, 3]);
    for (const [i, value] of data.entries()) expect(value).toBeCloseTo(0.1 * (0.9 * first![i]! + then![i]!), 6);
  });

  it("may be that of some parameters", async () => {
    const [state] = await statesOf({ optimizer }, "2.");
    expect(Object.keys(state!["exp_avg_sq"]!)).toEqual(["2.weight", "2.bias"]);
    await expect(statesOf({ optimizer }, "3.")).rejects.toThrow(
      "Optimizer `optimizer`: state() matches none of its parameters: 0.weight, 0.bias, 2.weight, 2.bias.",
    );
  });

  it("is each optimizer's own, and nothing where it keeps nothing", async () => {
    const [one, other] = await statesOf({
      optimizer: { one: sgd({ lr: 0.1, momentum: 0.9, params: "0." }), other: sgd({ lr: 0.1, params: "2." }) },
    });
    expect(Object.values(one!).map((tensors) => Object.keys(tensors))).toEqual([["0.weight", "0.bias"]]);
    expect(other).toEqual({});
  });

  it("is the same on engines that must be awaited", async () => {
    const engine = await asyncEngine();
    const awaited = await statesOf({ optimizer, engine });
    await engine.close();
    expect(awaited).toEqual(await statesOf({ optimizer }));
  });
});
