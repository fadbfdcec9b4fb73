import { Trainer, type Hook } from "hookline";
import { DataLoader } from "hookline/data";
import { linear, mse, relu, sequential } from "hookline/nn";
import { adamw } from "hookline/optim";
import { testEngine, tinyData, tinyTrainer } from "hookline/testing";
import { expect, test } from "vitest";
import { freeze } from "./freeze.ts";

const NAMES = ["0.weight", "0.bias", "2.weight", "2.bias", "4.weight", "4.bias"];

const make = (hooks: Hook[], epochs = 3): Trainer =>
  new Trainer({
    model: sequential(linear(3, 4), relu(), linear(4, 4), relu(), linear(4, 1)),
    loss: mse(),
    // Weight decay would move even a parameter without a gradient.
    optimizer: adamw({ lr: 0.05, weightDecay: 0.1 }),
    train: new DataLoader(tinyData(16), { batchSize: 4 }),
    epochs,
    engine: testEngine(),
    signals: false,
    hooks,
  });

/** For each step, the parameters that it moved. */
function recorder() {
  const moved: string[][] = [];
  let before: Record<string, string> = {};
  const read = async (params: { get(name: string): Promise<{ data: ArrayLike<number> }> }) =>
    Object.fromEntries(
      await Promise.all(NAMES.map(async (name) => [name, Array.from((await params.get(name)).data).join()] as const)),
    );
  const hook: Hook = {
    name: "recorder",
    async onTrainBegin(ctx) {
      before = await read(ctx.params);
    },
    async onStepEnd(ctx) {
      const now = await read(ctx.params);
      moved.push(NAMES.filter((name) => now[name] !== before[name]));
      before = now;
    },
  };
  return { hook, moved };
}

test("until: bit for bit the same for two epochs, then trained", async () => {
  const { hook, moved } = recorder();
  await using trainer = make([freeze({ params: "0.", until: "2 epochs" }), hook]);
  const { interventions } = await trainer.fit();
  expect(moved.slice(0, 8)).toEqual(Array.from({ length: 8 }, () => NAMES.slice(2)));
  expect(moved.slice(8)).toEqual(Array.from({ length: 4 }, () => NAMES));
  expect(interventions.map(({ step, why }) => [step, why])).toEqual([
    [1, "trains 4 of 6 parameters"],
    [9, "trains 6 of 6 parameters"],
  ]);
});

test("until and from in steps are exact", async () => {
  const { hook, moved } = recorder();
  await using trainer = make([freeze({ params: ["0.*", "2.*"], from: "3 steps", until: "5 steps" }), hook], 2);
  await trainer.fit();
  expect(moved.map((names) => names.length)).toEqual([6, 6, 2, 2, 2, 6, 6, 6]);
});

test("a schedule unfreezes bit by bit", async () => {
  const { hook, moved } = recorder();
  const schedule = [
    { params: "0.", until: "2 epochs" },
    { params: "2.", until: "1 epoch" },
  ];
  await using trainer = make([freeze({ schedule }), hook]);
  await trainer.fit();
  expect(moved.map((names) => names.length)).toEqual([2, 2, 2, 2, 4, 4, 4, 4, 6, 6, 6, 6]);
});

test("two hooks hold what each of them holds", async () => {
  const { hook, moved } = recorder();
  const hooks = [freeze({ name: "a", params: "0." }), freeze({ name: "b", params: "bias", until: "1 epoch" }), hook];
  await using trainer = make(hooks, 2);
  await trainer.fit();
  expect(moved[0]).toEqual(["2.weight", "4.weight"]);
  expect(moved[7]).toEqual(NAMES.slice(2));
});

test("holds in a second fit and after a restart", async () => {
  const { hook, moved } = recorder();
  await using trainer = make([freeze({ params: "0." }), hook], 1);
  await trainer.fit();
  await trainer.fit({ epochs: 2 });
  await trainer.fit({ restart: true });
  expect(moved).toEqual(Array.from({ length: 12 }, () => NAMES.slice(2)));
});

test("mistakes are errors that say what there is", async () => {
  expect(() => freeze({})).toThrow(/either `params` or `schedule`/);
  expect(() => freeze({ params: "a", schedule: [] })).toThrow(/either `params` or `schedule`/);
  expect(() => freeze({ schedule: [], until: 3 })).toThrow(/either `params` or `schedule`/);
  expect(() => freeze({ params: "a", untill: 3 } as never)).toThrow(/Did you mean `until`/);
  expect(() => freeze({ schedule: [{ params: "a", untl: 3 } as never] })).toThrow(/Did you mean `until`/);
  expect(() => freeze({ params: "a", until: "3 stpes" })).toThrow(/Did you mean `steps`/);
  await expect(tinyTrainer({ hooks: [freeze({ params: "wieght" })] }).fit()).rejects.toThrow(
    /"wieght" matches no parameter. Parameters: weight, bias/,
  );
  await expect(tinyTrainer({ hooks: [freeze({ params: "*" })] }).fit()).rejects.toThrow(/nothing is left to train/);
});

test("freezes layer 0 and not layer 10", async () => {
  const deep = sequential(...Array.from({ length: 11 }, (_, i) => linear(3, i === 10 ? 1 : 3)));
  await using trainer = tinyTrainer({ model: deep, steps: 2, hooks: [freeze({ params: "0." })] });
  const before = await trainer.stateDict();
  await trainer.fit();
  const after = await trainer.stateDict();
  const same = Object.keys(before).filter((name) => before[name]!.data.join() === after[name]!.data.join());
  expect(same).toEqual(["0.weight", "0.bias"]);
});
