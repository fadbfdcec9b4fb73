// Checkpoints as PyTorch keeps them: written for it to go on from, and read from it.
import { toHostArrays } from "../../checkpoint/formats/host-arrays.ts";
import type { FileTensors } from "../../checkpoint/formats/tensor.ts";
import { decodeTorchCheckpoint } from "../../checkpoint/formats/torch-checkpoint.ts";
import type { TorchOptimizer } from "../../checkpoint/formats/torch-optimizer.ts";
import { CheckpointError } from "../../core/errors.ts";
import type { HostTensors } from "../../core/model.ts";
import type { OptimizerSet } from "../optimizers.ts";
import { paramOfSlot } from "../programs/programs.ts";

/** The optimizers with their state, at the rates that are in effect. */
export function torchOptimizers(set: OptimizerSet, slots: FileTensors): TorchOptimizer[] {
  return set.slots.map(({ name, optimizer, groups, updates }, i) => {
    const mine = set.paramsOf(i);
    return {
      name,
      kind: optimizer.name,
      updates,
      groups: groups.map(({ params, values }, j) => ({
        params,
        values: { ...values, ...optimizer.constants, lr: set.rate(i, j) },
      })),
      slots: Object.fromEntries(Object.entries(slots).filter(([slot]) => mine.has(paramOfSlot(slot)))),
    };
  });
}

export interface TorchFile {
  readonly model: HostTensors;
  readonly optimizer: HostTensors;
  readonly updates: Readonly<Record<string, number>>;
}

/** A .pt file of ours: state of other optimizers than these is an error. */
export function fromTorch(bytes: Uint8Array, path: string, { slots }: OptimizerSet): TorchFile {
  const paramNames = Object.fromEntries(slots.map(({ name, groups }) => [name, groups.map(({ params }) => params)]));
  const { model, optimizers } = decodeTorchCheckpoint(bytes, path, { paramNames });
  const states: FileTensors = Object.assign({}, ...optimizers.map((each) => each.slots));
  return {
    model: toHostArrays(model, path),
    optimizer: toHostArrays(states, path),
    updates: Object.fromEntries(optimizers.map(({ name, updates }) => [name, updates])),
  };
}

/** A .pt file of a PyTorch program: with the optimizers' state if it has that of such optimizers, else the weights alone. */
export function fromForeignTorch(bytes: Uint8Array, path: string, set: OptimizerSet): TorchFile {
  try {
    return fromTorch(bytes, path, set);
  } catch (error) {
    if (!(error instanceof CheckpointError)) throw error;
    const { model } = decodeTorchCheckpoint(bytes, path);
    return { model: toHostArrays(model, path), optimizer: {}, updates: {} };
  }
}
