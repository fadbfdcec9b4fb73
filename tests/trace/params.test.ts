// trainer.params(): the parameters on the engine outside of hooks, and what is computed with them.
import type { ComputeFn, Engine, Tensors } from "hookline";
import { numpy as np } from "hookline/jax";
import { tinyTrainer } from "hookline/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { selectEngine } from "../../src/engines/select.ts";
import { testEngine } from "../../src/testing/tiny.ts";
import { around, asyncEngine } from "../support/engines.ts";

const ints = (...data: number[]) => ({ data: Int32Array.from(data), shape: [data.length] });

/** How many of its buffers are held. */
async function countedEngine(inner?: Engine): Promise<{ readonly engine: Engine; held(): number }> {
  const engine = inner ?? (await selectEngine(testEngine()));
  onTestFinished(() => engine.close());
  const alive = new Set<object>();
  const counted = around(engine, {
    put(host) {
      const buffer = engine.put(host);
      alive.add(buffer);
      return buffer;
    },
    free(buffer) {
      alive.delete(buffer);
      engine.free(buffer);
    },
  });
  return { engine: counted, held: () => alive.size };
}

/** The parameters, doubled. */
const doubled: ComputeFn = (params) => Object.fromEntries(Object.entries(params).map(([name, x]) => [name, x.mul(2)]));

describe.each([
  ["the tests' engine", () => selectEngine(testEngine())],
  ["an engine that must be awaited", asyncEngine],
])("on %s", (_, makeEngine) => {
  test("before, between and after calls of fit, the parameters are those of stateDict", async () => {
    await using trainer = tinyTrainer({ engine: await makeEngine() });
    const params = await trainer.params();
    expect(params.names).toEqual(["weight", "bias"]);
    const check = async (): Promise<void> => {
      const own = await trainer.stateDict();
      const twice = await params.compute(doubled);
      expect((await twice.get("weight")).data).toEqual(own.weight!.data.map((x) => 2 * x));
      expect(await params.get("bias")).toEqual(own.bias);
      twice.free();
    };
    await check();
    await trainer.fit();
    await check();
    await trainer.fit({ epochs: 2 });
    await check();
  });

  test("while fit runs, a call waits for the step, and the training does not notice", async () => {
    const weights = async (looks: boolean) => {
      await using trainer = tinyTrainer({ engine: await makeEngine(), epochs: 4 });
      const params = await trainer.params();
      const done = trainer.fit();
      const seen: Promise<unknown>[] = [];
      for (let i = 0; i < (looks ? 12 : 0); i++) {
        seen.push(params.compute(doubled).then((all) => all.read().finally(() => all.free())));
        await new Promise((resolve) => setImmediate(resolve));
      }
      await Promise.all([done, ...seen]);
      return trainer.stateDict();
    };
    expect(await weights(true)).toEqual(await weights(false));
  });

  test("whole numbers stay whole, and a table is looked up by them", async () => {
    await using trainer = tinyTrainer({ engine: await makeEngine() });
    const params = await trainer.params();
    const table = params.put({ rows: { data: Float32Array.of(10, 11, 20, 21, 30, 31), shape: [3, 2] } });
    const pick: ComputeFn = (_params, { rows }, { ids, words }, { value }) => ({
      rows: np.take(rows!, ids!.ref, 0),
      next: ids!.add(1),
      words: words!,
      half: value!.mul(0.5),
    });
    const words = { data: Uint32Array.of(0xffff_ffff, 7), shape: [2] };
    const out = await params.compute(pick, table, { ids: ints(2, 0), words }, 3);
    expect(await out.read()).toEqual({
      rows: { data: Float32Array.of(30, 31, 10, 11), shape: [2, 2] },
      next: { data: Int32Array.of(3, 1), shape: [2] },
      words,
      half: { data: Float32Array.of(1.5), shape: [] },
    });
  });

  test("a cache that is consumed is updated step by step; what was given up is gone", async () => {
    await using trainer = tinyTrainer({ engine: await makeEngine() });
    const params = await trainer.params();
    const add: ComputeFn = (_params, { "cache.0.k": k }, { at, x }) => ({
      "cache.0.k": np.where(np.arange(4).equal(at!), x!, k!),
    });
    let cache = params.put({ "cache.0.k": { data: new Float32Array(4), shape: [4] } });
    for (const at of [2, 0, 3]) {
      const before = cache;
      cache = await params.compute(add, params.consume(cache), {
        at: ints(at),
        x: { data: Float32Array.of(at + 1), shape: [1] },
      });
      expect(before.freed).toBe(true);
      await expect(before.get("cache.0.k")).rejects.toThrow("(cache.0.k) were consumed by an earlier params.compute");
      before.free();
    }
    expect((await cache.get("cache.0.k")).data).toEqual(Float32Array.of(1, 0, 3, 4));
  });

  test("a call that fails leaves what it was to consume", async () => {
    await using trainer = tinyTrainer({ engine: await makeEngine() });
    const params = await trainer.params();
    const kept = params.put({ a: { data: Float32Array.of(1, 2), shape: [2] } });
    const broken: ComputeFn = () => {
      throw new Error("as planned");
    };
    await expect(params.compute(broken, params.consume(kept))).rejects.toThrow("as planned");
    const twice = await params.compute((_params, { a }) => ({ a: a!.mul(2) }), params.consume(kept));
    expect((await twice.get("a")).data).toEqual(Float32Array.of(2, 4));
  });
});

test("no buffer is left behind, whatever is computed", async () => {
  const { engine, held } = await countedEngine();
  const trainer = tinyTrainer({ engine });
  const params = await trainer.params();
  const before = held();
  const sum: ComputeFn = (own, { a }, { b }, { value }) => ({ sum: own.bias!.add(a!).add(b!).mul(value!) });
  for (let i = 0; i < 3; i++) {
    const a = params.put({ a: { data: Float32Array.of(i), shape: [1] } });
    const out = await params.compute(sum, a, { b: { data: Float32Array.of(1), shape: [1] } }, 2);
    out.free();
    a.free();
    await expect(params.compute(() => ({ no: 1 as never }), { b: ints(1) }, 2)).rejects.toThrow("is no tensor");
  }
  expect(held()).toBe(before);
  await trainer.close();
});

describe("after close, or a new start,", () => {
  test.each<[string, (trainer: ReturnType<typeof tinyTrainer>) => Promise<unknown>]>([
    ["close", (trainer) => trainer.close()],
    ["fit({ restart: true })", (trainer) => trainer.fit({ restart: true })],
  ])("%s: the parameters of before say so, and new ones can be had", async (_, end) => {
    await using trainer = tinyTrainer();
    await trainer.fit();
    const params = await trainer.params();
    const kept = params.snapshot();
    await end(trainer);
    const gone = "closed or has started over since. Get the present ones with `await trainer.params()`";
    await expect(params.compute(doubled)).rejects.toThrow(gone);
    await expect(params.get("weight")).rejects.toThrow(gone);
    expect(() => params.names).toThrow(gone);
    expect(() => params.put({})).toThrow(gone);
    expect(() => params.snapshot()).toThrow(gone);
    await expect(kept.read()).rejects.toThrow("freed before this use");
    expect((await trainer.params()).names).toEqual(["weight", "bias"]);
  });

  test("a call under way ends with that error, and leaves nothing", async () => {
    const { engine, held } = await countedEngine(await asyncEngine());
    const trainer = tinyTrainer({ engine });
    const params = await trainer.params();
    const given = params.consume(params.put({ a: ints(1, 2) }));
    const computing = params.compute((_params, { a }) => ({ a: a!.add(1) }), given, 1);
    const [outcome] = await Promise.allSettled([computing, trainer.close()]);
    expect(String((outcome as PromiseRejectedResult).reason)).toContain("closed or has started over since");
    // What the program took with it is not freed here.
    expect(held()).toBe(1);
  });
});

describe("what is not possible is said:", () => {
  const odd: readonly [string, ComputeFn | undefined, readonly unknown[], string][] = [
    ["no function", undefined, [], "takes a function first, got `undefined`"],
    ["a text", doubled, ["2"], 'takes tensors of this trainer, host arrays by name and numbers, got `"2"`'],
    ["a list for an array", doubled, [{ ids: [1, 2] }], "params.compute, `ids`: expected a typed array"],
    ["nested results", (params) => ({ cache: { k: params.weight } as never }), [], "such as `cache.0`"],
    ["a bare tensor", (params) => params.weight as unknown as Tensors, [], "must return tensors by name"],
  ];
  test.each(odd)("%s", async (_, fn, inputs, message) => {
    await using trainer = tinyTrainer();
    const params = await trainer.params();
    await expect(params.compute(fn as ComputeFn, ...(inputs as number[]))).rejects.toThrow(message);
  });

  test("tensors of another trainer", async () => {
    await using one = tinyTrainer();
    await using other = tinyTrainer();
    const foreign = (await other.params()).snapshot();
    const params = await one.params();
    await expect(params.compute(doubled, foreign)).rejects.toThrow("takes tensors of this trainer");
    expect(() => params.consume(foreign)).toThrow("takes tensors of this trainer");
  });

  test("many functions, outside of hooks", async () => {
    const warnings: string[] = [];
    await using trainer = tinyTrainer({ warn: (message) => void warnings.push(message) });
    const params = await trainer.params();
    for (let i = 0; i < 10; i++) (await params.compute((own) => own)).free();
    expect(warnings).toEqual([
      "This program has passed 9 different functions to params.compute. Each is compiled, even if its text is the same. Create the function once, and pass that one every time.",
    ]);
  });
});
