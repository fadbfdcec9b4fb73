// Checkpoints as PyTorch keeps them: written for it to go on from, and read from it.
import { toHostArrays } from "../../checkpoint/formats/tensor-values.ts";
import { decodePt } from "../../checkpoint/formats/torch/pt.ts";
import { renameTensors } from "../../checkpoint/formats/state-dict.ts";
import type { FileTensors } from "../../checkpoint/formats/tensor.ts";
import { decodeTorchCheckpoint, weightsIn, NO_OPTIMIZER } from "../../checkpoint/formats/torch/torch-checkpoint.ts";
import type { TorchOptimizer } from "../../checkpoint/formats/torch/torch-optimizer.ts";
import { CheckpointError } from "../../core/errors.ts";
import type { HostTensors } from "../../core/model.ts";
import type { OptimizerSet, OptimizerState, Slot } from "../optimizers.ts";
import { paramOfSlot, slotName } from "../programs/programs.ts";
import type { PtValue } from "../../checkpoint/formats/torch/pickle-writer.ts";

/** The optimizers as they were at the snapshot that `slots` are of: by the time of writing, training has gone on. */
export function torchOptimizers(
  set: OptimizerSet,
  then: readonly OptimizerState[],
  slots: FileTensors,
): TorchOptimizer[] {
  return set.slots.map(({ name, optimizer, groups }, i) => {
    const mine = set.paramsOf(i);
    const { updates, scheduled, groups: saved } = then[i]!;
    return {
      name,
      kind: optimizer.name,
      ...(optimizer.torch && { layout: optimizer.torch }),
      updates,
      groups: groups.map(({ params }, j) => {
        const { values, factor } = saved[j]!;
        return { params, values: { ...values, ...optimizer.constants, lr: values.lr * scheduled * factor } };
      }),
      slots: Object.fromEntries(Object.entries(slots).filter(([slot]) => mine.has(paramOfSlot(slot)))),
    };
  });
}

export interface TorchFile {
  readonly model: HostTensors;
  readonly optimizer: HostTensors;
  readonly updates: Readonly<Record<string, number>>;
  /** Why the optimizers cannot go on from what it has of them. */
  readonly unfit?: CheckpointError;
}

/** A .pt file, ours or of a PyTorch program. Without any state of optimizers it has the weights alone. */
export function fromTorch(bytes: Uint8Array, path: string, set: OptimizerSet): TorchFile {
  const value = decodePt(bytes, path);
  const weights = unwrapped(weightsIn(value, path), set);
  const model = toHostArrays(weights, path);
  try {
    return { model, ...optimizersIn(value, path, set, weights) };
  } catch (error) {
    if (!(error instanceof CheckpointError)) throw error;
    return { model, ...noOptimizers(set), ...(error.reason !== NO_OPTIMIZER && { unfit: error }) };
  }
}

/** Optimizers that begin anew. */
export const noOptimizers = ({ slots }: OptimizerSet): Omit<TorchFile, "model"> => ({
  optimizer: {},
  updates: Object.fromEntries(slots.map(({ name }) => [name, 0])),
});

function optimizersIn(
  value: PtValue,
  path: string,
  { slots }: OptimizerSet,
  shapes: FileTensors,
): Omit<TorchFile, "model"> {
  const paramNames = Object.fromEntries(slots.map(({ name, groups }) => [name, groups.map(({ params }) => params)]));
  const { optimizers } = decodeTorchCheckpoint(value, path, { paramNames, shapes });
  const states: FileTensors = Object.assign({}, ...optimizers.map((each) => each.slots));
  const goesOn = ({ optimizer, groups }: Slot): boolean =>
    groups.some(({ params }) =>
      params.some((param) => optimizer.slots.some((slot) => Object.hasOwn(states, slotName(slot, param)))),
    );
  return {
    optimizer: toHostArrays(states, path),
    // After another kind of optimizer this one begins anew: it must count its updates from there.
    updates: Object.fromEntries(optimizers.map(({ name, updates }, i) => [name, goesOn(slots[i]!) ? updates : 0])),
  };
}

/** The prefix with which all wanted names are among these, such as Lightning's `model.`. */
export const prefixOf = (names: readonly string[], wanted: readonly string[]): string | undefined => {
  const [first] = wanted;
  const known = new Set(names);
  return names
    .filter((name) => first !== undefined && name.endsWith(`.${first}`))
    .map((name) => name.slice(0, -first!.length))
    .find((prefix) => wanted.every((name) => known.has(prefix + name)));
};

/** The weights of a model that was part of another, and all there is of it (Lightning, DataParallel), by its own names. */
export function unwrapped<T>(tensors: Record<string, T>, { slots }: OptimizerSet): Record<string, T> {
  const params = slots.flatMap(({ groups }) => groups.flatMap((group) => group.params));
  const names = Object.keys(tensors);
  const prefix = params.every((name) => Object.hasOwn(tensors, name)) ? undefined : prefixOf(names, params);
  const isAll = prefix !== undefined && names.every((name) => name.startsWith(prefix));
  return isAll ? renameTensors(tensors, { prefix }) : tensors;
}
