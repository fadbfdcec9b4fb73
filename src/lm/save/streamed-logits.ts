// The logits of one row, with one layer's weights on the engine at a time: a check of a model that may be larger than memory.
import type { ApplyContext, Tensor, Tensors } from "../../core/model.ts";
import type { HostArray } from "../../core/arrays.ts";
import { type Buffer, type Engine, freeAll } from "../../engines/engine.ts";
import { logitsOf } from "../../nn/deferred-logits.ts";
import type { LanguageModel } from "../model/language-model.ts";
import type { ReadTensor } from "./merge.ts";

const TOKENS = 24;

const inference: ApplyContext = {
  train: false,
  state: {},
  loader: "check",
  key: {
    next: () => {
      throw new Error("a check draws no random numbers");
    },
  },
};

/** Ids spread over the vocabulary, the same each time. */
function someIds({ architecture: { vocabularySize, contextLength } }: LanguageModel): HostArray {
  const length = Math.min(TOKENS, contextLength);
  return { data: Int32Array.from({ length }, (_, i) => (i * 7919 + 17) % vocabularySize), shape: [1, length] };
}

/** `names` are the parameters that `read` knows. */
export async function streamedLogits(
  engine: Engine,
  model: LanguageModel,
  names: readonly string[],
  read: ReadTensor,
): Promise<Float32Array> {
  const { stack } = model;
  const prefixes = stack.layers.map(({ prefix }) => prefix);
  const outside = names.filter((name) => !prefixes.some((prefix) => name.startsWith(prefix)));
  const put = async (wanted: readonly string[], cut = 0): Promise<Record<string, Buffer>> => {
    const buffers: Record<string, Buffer> = {};
    for (const name of wanted) buffers[name.slice(cut)] = engine.put(await read(name));
    return buffers;
  };
  const ids = engine.put(someIds(model));
  let params = await put(outside);
  const embed = engine.jit((p: Tensors, x: Tensor) => stack.embed(p, { ids: x }, inference));
  let hidden = await embed(params, ids);
  freeAll(engine, params);
  const programs = new Map<string, ReturnType<typeof layerProgram>>();
  const layerProgram = (kind: string) =>
    engine.jit((p: Tensors, h: Tensor, x: Tensor) => stack.layer(kind, p, h, { ids: x }, inference));
  for (const { prefix, kind } of stack.layers) {
    const program = programs.get(kind) ?? layerProgram(kind);
    programs.set(kind, program);
    params = await put(
      names.filter((name) => name.startsWith(prefix)),
      prefix.length,
    );
    const next = await program(params, hidden, ids);
    freeAll(engine, [params, hidden]);
    hidden = next;
  }
  params = await put(outside);
  const head = engine.jit((p: Tensors, h: Tensor) => logitsOf(stack.head(p, h, inference)) as Tensor);
  const logits = await head(params, hidden);
  const data = Float32Array.from(await engine.read(logits));
  freeAll(engine, [params, hidden, logits, ids]);
  return data;
}

/** How far `got` is from `expected`: the root mean square of differences, relative to that of `expected`. */
export function distance(got: Float32Array, expected: Float32Array): number {
  let [difference, size] = [0, 0];
  for (let i = 0; i < expected.length; i++) {
    difference += (got[i]! - expected[i]!) ** 2;
    size += expected[i]! ** 2;
  }
  return Math.sqrt(difference / (size || 1));
}
