// A model whose frozen part is held by reference, made of an ordinary one, which computes the same.
import { createHash } from "node:crypto";
import type { FrozenBase, HostTensors, Model } from "hookline";
import { initKey } from "../../src/nn/key.ts";

export interface WatchedBase extends FrozenBase {
  /** Names in the order in which they were read. */
  readonly reads: string[];
}

/** The tensors as a base that notes what is read of it. */
export function baseOfTensors(tensors: HostTensors, path = "models/base"): WatchedBase {
  const reads: string[] = [];
  const hash = createHash("sha256");
  for (const { data } of Object.values(tensors)) hash.update(data);
  return {
    path,
    digest: hash.digest("hex"),
    reads,
    tensors: new Map(
      Object.entries(tensors).map(([name, { data, shape }]) => {
        const read = async () => {
          reads.push(name);
          return { data: data.slice(), shape };
        };
        return [name, { shape, dtype: data instanceof Int32Array ? "int32" : "float32", read } as const];
      }),
    ),
  };
}

/** The same model, with the parameters that `isFrozen` chooses in its base. */
export function onBase(
  model: Model<never>,
  isFrozen: (name: string) => boolean,
  { seed = 0, path = "models/base" } = {},
): Model<never> & { readonly base: WatchedBase } {
  const pick = (tensors: HostTensors, frozen: boolean): HostTensors =>
    Object.fromEntries(Object.entries(tensors).filter(([name]) => isFrozen(name) === frozen));
  const whole = model.init(initKey(seed));
  return {
    ...model,
    init: (key) => pick(model.init(key), false),
    base: baseOfTensors(pick(whole, true), path),
  };
}
