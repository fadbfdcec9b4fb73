// A model's frozen base on the engine: read one tensor at a time, passed to every program as constants, and never saved.
import { dtypeOf, toHostArray } from "../core/arrays.ts";
import { CheckpointError, DataError, OptionError } from "../core/errors.ts";
import type { FrozenBase } from "../core/model.ts";
import { is, show } from "../core/options.ts";
import { type Buffer, type Engine, freeRest } from "../engines/engine.ts";
import type { Buffers } from "./device-state.ts";

/** What checkpoints record of a base. */
type BaseMark = Pick<FrozenBase, "path" | "digest">;

/** Rejects a base whose names are those of the model's own parameters, or that a checkpoint could not record. */
export function checkBase(base: FrozenBase, own: readonly string[]): void {
  const { path, digest, tensors } = base;
  if (!is.name.test(path) || !is.name.test(digest) || !(tensors instanceof Map))
    throw new OptionError(`Trainer: Expected the model's \`base\` to be { path, digest, tensors }, got ${show(base)}.`);
  const both = own.find((name) => tensors.has(name));
  if (both === undefined) return;
  throw new OptionError(
    `Trainer: \`${both}\` is both a parameter of the model's init and a tensor of its frozen base (${path}). What is trained must not be in \`base.tensors\`, and what is frozen not in \`init\`.`,
  );
}

/** Brings the tensors to the engine. One at a time, so that the host never has more than one. */
export async function putBase(engine: Engine, { path, tensors }: FrozenBase): Promise<Buffers> {
  const buffers: Record<string, Buffer> = {};
  try {
    for (const [name, tensor] of tensors) {
      const what = `The base ${path}, tensor \`${name}\``;
      const { shape, dtype } = tensor;
      const array = toHostArray(await tensor.read(), what);
      const found = `${dtypeOf(array)} [${array.shape.join(", ")}]`;
      if (found !== `${dtype} [${shape.join(", ")}]`)
        throw new DataError(`${what}: it was read as ${found}, but is listed as ${dtype} [${shape.join(", ")}].`);
      buffers[name] = engine.put(array);
    }
  } catch (error) {
    freeRest(engine, buffers);
    throw error;
  }
  return buffers;
}

/** What is trained on a base fits that base alone, although the shapes of others may be the same. */
export function checkSameBase(checkpoint: string, then: BaseMark | undefined, now: BaseMark | undefined): void {
  if (then?.digest === now?.digest) return;
  throw new CheckpointError(
    checkpoint,
    `it was saved with ${describe(then)}, and this model has ${describe(now)}`,
    "Build the model on the base of the checkpoint. To start from its weights all the same, give `resume` its file of weights.",
  );
}

const describe = (base: BaseMark | undefined): string =>
  base ? `the base ${base.path} (SHA-256 ${base.digest})` : "no frozen base";
