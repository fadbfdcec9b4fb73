// Programs of a language model for tests: logits of rows, and greedy text with a cache and without.
import { numpy as np } from "@jax-js/jax";
import type { LanguageModel } from "hookline/lm";
import { initKey, logitsOf } from "hookline/nn";
import type { HostArray } from "../../src/core/arrays.ts";
import type { ApplyContext, Tensor, TensorBatch, Tensors } from "../../src/core/model.ts";
import { freeAll, type Buffer, type Engine } from "../../src/engines/engine.ts";
import { selectEngine, type EngineName } from "../../src/engines/select.ts";

type Buffers = Readonly<Record<string, Buffer>>;

const evaluation: ApplyContext = {
  train: false,
  state: {},
  loader: "test",
  key: {
    next: () => {
      throw new Error("no random numbers here");
    },
  },
};

/** Runs on an engine, which is closed at the end. */
export async function withEngine<T>(name: EngineName, run: (engine: Engine) => Promise<T>): Promise<T> {
  const engine = await selectEngine(name);
  try {
    return await run(engine);
  } finally {
    await engine.close();
  }
}

const putAll = (engine: Engine, arrays: Readonly<Record<string, HostArray>>): Buffers =>
  Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, engine.put(array)]));

export const int32 = (values: readonly number[], shape: readonly number[]): HostArray => ({
  data: Int32Array.from(values),
  shape,
});

/** The logits of rows. */
export async function logitsFor(engine: Engine, model: LanguageModel, inputs: Readonly<Record<string, HostArray>>) {
  const params = putAll(engine, model.init(initKey(0)));
  const given = putAll(engine, inputs);
  const program = engine.jit(
    (p: Tensors, x: TensorBatch): Tensor => logitsOf(model.apply(p, x, evaluation) as Tensor) as Tensor,
  );
  const out = await program(params, given);
  const data = await engine.read(out);
  freeAll(engine, [params, given, out]);
  return { data, shape: [...out.shape] };
}

/** Appends `count` tokens to each prompt, the most likely ones. Prompts of different lengths are padded behind. */
export async function greedy(
  engine: Engine,
  model: LanguageModel,
  prompts: readonly (readonly number[])[],
  count: number,
  { cached = true, capacity = 80 }: { cached?: boolean; capacity?: number } = {},
): Promise<number[][]> {
  const params = putAll(engine, model.init(initKey(0)));
  try {
    return await (cached ? withCache : withoutCache)(engine, model, params, prompts, count, capacity);
  } finally {
    freeAll(engine, params);
  }
}

const mostLikely = (logits: Tensor): Tensor => np.argmax(logits, -1).astype(np.int32);

async function withCache(
  engine: Engine,
  model: LanguageModel,
  params: Buffers,
  prompts: readonly (readonly number[])[],
  count: number,
  capacity: number,
): Promise<number[][]> {
  const { keyValueHeads, headDim, layers } = model.architecture;
  const shape = [prompts.length, keyValueHeads, capacity, headDim];
  const zeros = (): Buffer => engine.put({ data: new Float32Array(shape.reduce((a, b) => a * b, 1)), shape });
  let keyValues: { k: Buffer; v: Buffer }[] = layers.map(() => ({ k: zeros(), v: zeros() }));
  const step = engine.jit(
    (p: Tensors, ids: Tensor, starts: Tensor, last: Tensor, cache: { k: Tensor; v: Tensor }[]) => {
      const [rows, time] = ids.shape as [number, number];
      const next = model.decode(p, ids, { keyValues: cache, starts });
      const width = next.hidden.shape[2]!;
      const index = last.add(np.arange(rows).astype(np.int32).mul(time));
      const hidden = np.take(next.hidden.reshape([rows * time, width]), index, 0);
      return { ids: mostLikely(model.logits(p, hidden)), cache: next.cache };
    },
    { donate: [4] },
  );
  const texts = prompts.map((prompt) => [...prompt]);
  const rows = texts.length;
  const longest = Math.max(...texts.map(({ length }) => length));
  let ids = texts.flatMap((text) => [...text, ...Array.from({ length: longest - text.length }, () => 0)]);
  let [starts, time, last] = [texts.map(() => 0), longest, texts.map(({ length }) => length - 1)];
  for (let i = 0; i < count; i++) {
    const given = [
      engine.put(int32(ids, [rows, time])),
      engine.put(int32(starts, [rows])),
      engine.put(int32(last, [rows])),
    ] as const;
    const out = await step(params, ...given, keyValues);
    ids = [...(await engine.read(out.ids))];
    freeAll(engine, [...given, out.ids]);
    keyValues = out.cache as typeof keyValues;
    [starts, time, last] = [texts.map(({ length }) => length), 1, texts.map(() => 0)];
    texts.forEach((text, row) => text.push(ids[row]!));
  }
  freeAll(engine, keyValues);
  return texts;
}

async function withoutCache(
  engine: Engine,
  model: LanguageModel,
  params: Buffers,
  prompts: readonly (readonly number[])[],
  count: number,
  capacity: number,
): Promise<number[][]> {
  const program = engine.jit((p: Tensors, ids: Tensor): Tensor => {
    const logits = logitsOf(model.apply(p, { ids }, evaluation) as Tensor) as Tensor;
    return mostLikely(logits);
  });
  const texts = prompts.map((prompt) => [...prompt]);
  for (const text of texts) {
    for (let i = 0; i < count; i++) {
      const padded = [...text, ...Array.from({ length: capacity - text.length }, () => 0)];
      const ids = engine.put(int32(padded, [1, capacity]));
      const out = await program(params, ids);
      text.push((await engine.read(out))[text.length - 1]!);
      freeAll(engine, [ids, out]);
    }
  }
  return texts;
}
