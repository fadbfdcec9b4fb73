// A run keeps nothing: neither heap nor device buffers grow with the steps, and no operation waits for a later step.
import type { Hook, Tensor } from "hookline";
import { linear, relu, sequential } from "hookline/nn";
import { tinyData, tinyTrainer } from "hookline/testing";
import { beforeAll, describe, expect, it } from "vitest";
import { JaxEngine } from "../src/engines/jax/jax-engine.ts";
import { NativeEngine } from "../src/engines/native/native-engine.ts";
import { CASES, growth, tenHooks } from "./support/growth.ts";
import { heapInUse } from "./support/heap.ts";
import { watchBuffers, type LiveBuffers } from "./support/live-buffers.ts";

const MB = 1024 * 1024;
let live: LiveBuffers;

beforeAll(async () => {
  live = await watchBuffers();
});

it("ten hooks over ten thousand steps leave nothing behind", async () => {
  const { heap, buffers } = await growth({ hooks: tenHooks() }, live, 10_000);
  expect(buffers).toBe(0);
  expect(heap).toBeLessThan(MB);
});

describe.each(Object.entries(CASES))("%s", (_name, options) => {
  it("leaves nothing behind", async () => {
    const before = live.count;
    const { heap, buffers } = await growth(options(), live, 1500);
    expect(buffers).toBe(0);
    // Most of this is what the compiler learns; one forgotten gradient per step would be many times as much.
    expect(heap).toBeLessThan(MB);
    expect(live.count - before, "after close()").toBe(0);
  });
});

it("looking into the model once leaves nothing behind, whether it works or not", async () => {
  const engine = await JaxEngine.create("wasm");
  const trainer = tinyTrainer({ model: sequential(linear(3, 4), relu(), linear(4, 1)), engine });
  const { x } = tinyData(4);
  const zero = (value: Tensor): Tensor => value.mul(0);
  const look = async (): Promise<void> => {
    await trainer.runWithProbes({ x });
    await trainer.runWithProbes({ x }, { match: (name) => name !== "1", collect: "stats", replace: zero, train: true });
    await expect(trainer.runWithProbes({ x }, { match: "nope" })).rejects.toThrow("no point");
    await expect(trainer.runWithProbes({ x }, { match: "0", replace: wrong })).rejects.toThrow("must return an array");
  };
  const wrong = (value: Tensor): Tensor => value.sum();
  // The first one compiles programs, and these have constants.
  await look();
  const before = live.count;
  for (let i = 0; i < 5; i++) await look();
  expect(live.count - before).toBe(0);
  await trainer.close();
  await engine.close();
});

it("the host has the model's initial values only until the engine has them, and makes them again for a new start", async () => {
  const [inner, made] = [linear(3, 1), [] as WeakRef<object>[]];
  const init: typeof inner.init = (key) => {
    const tensors = inner.init(key);
    made.push(...Object.values(tensors).map(({ data }) => new WeakRef(data)));
    return tensors;
  };
  const trainer = tinyTrainer({ model: { ...inner, init } });
  const first = await trainer.stateDict();
  await trainer.fit();
  await new Promise((resolve) => setImmediate(resolve));
  heapInUse();
  expect(made.map((ref) => ref.deref())).toEqual([undefined, undefined]);
  await trainer.close();
  expect([await trainer.stateDict(), made.length]).toEqual([first, 4]);
  await trainer.close();
});

describe("a step that fails", () => {
  const throwing = (event: "onAfterBackward" | "onBeforeOptimizerStep" | "onAfterOptimizerStep"): Hook => ({
    name: "failing",
    [event]() {
      throw new Error("as planned");
    },
  });
  /** Five features where the model wants three: its program cannot be traced. */
  const wide = {
    x: { data: new Float32Array(20), shape: [4, 5] },
    y: { data: new Float32Array(4), shape: [4, 1] },
  };
  const widening = (methods: Partial<Hook>): Hook => ({
    name: "failing",
    onBatchBegin: (ctx) => ctx.replaceBatch(wide),
    ...methods,
  });

  /** Buffers that five failures leave behind while the trainer lives, and after its end. */
  async function left(hook: Hook): Promise<[open: number, closed: number]> {
    const before = live.count;
    const engine = await JaxEngine.create("wasm");
    // Long epochs: what a run does after a failure in an epoch's last step is not the question here.
    const trainer = tinyTrainer({ samples: 1024, steps: 2, engine });
    await trainer.fit();
    const fail = async (): Promise<void> => {
      const dispose = trainer.hooks.add(hook);
      await expect(trainer.fit({ steps: 100 })).rejects.toThrow(/as planned|failed on a batch/);
      dispose();
    };
    // The first one compiles programs, and these have constants.
    await fail();
    const open = live.count;
    for (let i = 0; i < 5; i++) await fail();
    const after = live.count - open;
    await trainer.fit({ steps: 20 });
    await trainer.close();
    await engine.close();
    return [after, live.count - before];
  }

  it.each(["onAfterBackward", "onBeforeOptimizerStep", "onAfterOptimizerStep"] as const)(
    "in %s leaves nothing behind, and training goes on",
    async (event) => {
      expect(await left(throwing(event))).toEqual([0, 0]);
    },
  );

  // Known: the control vector of a program that cannot be traced stays.
  it("in its program leaves nothing behind, and training goes on", async () => {
    expect(await left(widening({}))).toEqual([0, 0]);
  });

  it("in the program of a split plan leaves nothing behind, and training goes on", async () => {
    expect(await left(widening({ onAfterBackward() {} }))).toEqual([0, 0]);
  });
});

it("a step leaves no operation to a later one: they would chain, and make steps slower and slower", async () => {
  const kernels: number[] = [];
  const counter: Hook = { name: "counter", onStepEnd: () => void kernels.push(live.kernels) };
  await using trainer = tinyTrainer({ samples: 1024, steps: 100, hooks: [counter] });
  await trainer.fit();
  const perStep = kernels.slice(1).map((count, i) => count - kernels[i]!);
  expect(perStep[0]).toBeGreaterThan(0);
  expect(new Set(perStep)).toEqual(new Set([perStep[0]]));
});

describe("the update of a split step", () => {
  /** What a step's last program adds to the memory in use. */
  async function added(hooks: readonly Hook[]): Promise<number> {
    let bytes = Number.NaN;
    const engine = new NativeEngine({ threads: 1 });
    const jit = engine.jit.bind(engine);
    engine.jit = ((...given: Parameters<typeof jit>) => {
      const program = jit(...given);
      return (...args: Parameters<typeof program>) => {
        const before = engine.bytesInUse;
        const result = program(...args);
        bytes = engine.bytesInUse - before;
        return result;
      };
    }) as typeof jit;
    const trainer = tinyTrainer({ samples: 64, steps: 3, accumulate: 2, engine, hooks });
    await trainer.fit();
    await trainer.close();
    await engine.close();
    return bytes;
  }

  it("overwrites what it replaces, unless a hook could look at what was before", async () => {
    expect(await added([])).toBeLessThanOrEqual(0);
    expect(await added([{ name: "looks", onAfterOptimizerStep() {} }])).toBeGreaterThan(0);
  });
});
