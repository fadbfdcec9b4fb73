// Between a snapshot and the files of a checkpoint. Loaded with the first checkpoint that is written or read.
import { toHostArrays } from "../../checkpoint/formats/tensor-values.ts";
import { decodeSafetensors, safetensorsParts } from "../../checkpoint/formats/safetensors.ts";
import { matchTensors, renameTensors } from "../../checkpoint/formats/state-dict.ts";
import type { FileTensors } from "../../checkpoint/formats/tensor.ts";
import {
  NO_OPTIMIZER,
  decodeTorchCheckpoint,
  torchCheckpointParts,
  weightsIn,
} from "../../checkpoint/formats/torch/torch-checkpoint.ts";
import type { CheckpointFiles, CheckpointStore, FileParts, LentFiles } from "../../checkpoint/store.ts";
import { CheckpointError } from "../../core/errors.ts";
import type { HostTensors } from "../../core/model.ts";
import type { WeightFormat, WeightsOptions } from "../../core/saving.ts";
import type { Engine } from "../../engines/engine.ts";
import type { OptimizerSet, OptimizerState, Slot } from "../optimizers.ts";
import { parseExact, stringifyExact } from "../../runs/exact-json.ts";
import { STATE_SCHEMA, type SavedState } from "./saved-state.ts";
import type { Snapshot, SnapshotMemory } from "./snapshot.ts";
import { decodePt } from "../../checkpoint/formats/torch/pt.ts";
import type { TorchOptimizer } from "../../checkpoint/formats/torch/torch-optimizer.ts";
import { paramOfSlot, slotName } from "../programs/programs.ts";
import type { PtValue } from "../../checkpoint/formats/torch/pickle-writer.ts";

const STATE_FILE = "state.json";
const TORCH_FILE = "checkpoint.pt";
const ENDING = ".safetensors";

/** The files of a checkpoint, in parts that lie in `memory`, which the writing thread sees. */
export async function toFiles(
  snapshot: Snapshot,
  memory: SnapshotMemory,
  more: CheckpointFiles,
  format: WeightFormat,
  optimizers: OptimizerSet,
): Promise<FileParts> {
  const all = Object.values(snapshot.tensors);
  memory.begin(
    all.reduce((sum, held) => sum + held.bytes, 0),
    all.reduce((sum, held) => sum + held.names.length, 0),
  );
  const tensors: Record<string, FileTensors> = {};
  for (const [file, held] of Object.entries(snapshot.tensors)) tensors[file] = await held.toWrite(memory);
  const files: Record<string, Uint8Array | readonly Uint8Array[]> = { ...more };
  if (format === "pt") {
    const { model, optimizer, ...others } = tensors;
    const { step, epoch } = snapshot;
    const states = torchOptimizers(optimizers, snapshot.state.position.optimizers, optimizer!);
    files[TORCH_FILE] = torchCheckpointParts({ model: model!, optimizers: states, step, epoch });
    addFiles(files, others);
  } else addFiles(files, tensors);
  return { ...files, ...stateFile(snapshot) };
}

/** The same with the tensors left where they are, for as long as the snapshot is not freed; undefined when it must be copied. */
export async function toLentFiles(
  snapshot: Snapshot,
  engine: Engine,
  more: CheckpointFiles,
): Promise<{ files: FileParts; lent: LentFiles } | undefined> {
  const placeOf = engine.lend?.(Object.values(snapshot.tensors).flatMap((held) => held.lendable));
  if (!placeOf) return undefined;
  const lent: Record<string, LentFiles[string]> = {};
  for (const [file, held] of Object.entries(snapshot.tensors)) {
    const tensors = await held.toLend(placeOf);
    lent[file + ENDING] = () => fileOf(tensors());
  }
  return { files: { ...more, ...stateFile(snapshot) }, lent };
}

const stateFile = ({ state }: Snapshot): CheckpointFiles => ({
  [STATE_FILE]: new TextEncoder().encode(stringifyExact(state)),
});

/** Some readers ask which library the tensors' names are of. */
const fileOf = (tensors: FileTensors): Uint8Array[] => safetensorsParts(tensors, { format: "pt" });

function addFiles(files: Record<string, FileParts[string]>, tensors: Readonly<Record<string, FileTensors>>): void {
  for (const [file, each] of Object.entries(tensors)) files[file + ENDING] = fileOf(each);
}

/** What a checkpoint, or a file of other software, has for a run. */
export interface ReadCheckpoint {
  /** Its place, for errors. */
  readonly where: string;
  readonly model: HostTensors;
  readonly optimizer: HostTensors;
  /** Undefined in files of other software. */
  readonly state?: SavedState;
  /** Updates that the optimizers have done, by name, where there is no state to tell. */
  readonly updates?: Readonly<Record<string, number>>;
  /** Why the optimizers cannot go on from what it has of them: told when the model fits. */
  readonly unfit?: CheckpointError;
  tensorsIn(file: string): HostTensors;
}

/** The tensors that a model wants, in its order; a CheckpointError when names or shapes differ, or else the optimizers. */
export function fitModel({ model, where, unfit }: ReadCheckpoint, own: HostTensors): HostTensors {
  let tensors: HostTensors;
  try {
    ({ tensors } = matchTensors(model, own, { strict: true }, where));
  } catch (error) {
    const [names, wanted] = [Object.keys(model), Object.keys(own)];
    const alike = names.length === wanted.length && wanted.every((name) => Object.hasOwn(model, name));
    if (alike || !(error instanceof CheckpointError)) throw error;
    // A resume has no options for names, so those of loadStateDict are told.
    const prefix = prefixOf(names, wanted);
    const options = prefix === undefined ? "strict: false" : `prefix: ${JSON.stringify(prefix)}, strict: false`;
    throw new CheckpointError(
      where,
      error.reason,
      `Build the model as it was there, or start from the weights that fit: trainer.loadStateDict(await readWeights(path), { ${options} }).`,
    );
  }
  if (unfit) throw unfit;
  return tensors;
}

/** Takes a checkpoint's files apart; `where` is its place, for errors. */
export function fromFiles(files: CheckpointFiles, where: string, optimizers: OptimizerSet): ReadCheckpoint {
  const bytesOf = (file: string): Uint8Array => {
    const bytes = Object.hasOwn(files, file) ? files[file] : undefined;
    if (bytes) return bytes;
    throw new CheckpointError(`${where}/${file}`, "the checkpoint has no such file", "Use another checkpoint.");
  };
  const tensorsIn = (file: string): HostTensors => readTensors(bytesOf(file + ENDING), `${where}/${file}${ENDING}`);
  const state = readState(bytesOf(STATE_FILE), `${where}/${STATE_FILE}`);
  const weights = Object.hasOwn(files, TORCH_FILE)
    ? fromTorch(bytesOf(TORCH_FILE), `${where}/${TORCH_FILE}`, optimizers)
    : { model: tensorsIn("model"), optimizer: tensorsIn("optimizer") };
  return { where, ...weights, state, tensorsIn };
}

/** The weights in one of a store's checkpoints: averaged ones where a hook keeps some, unless they are not wanted. */
export async function weightsOf(
  store: CheckpointStore,
  name: string,
  { averaged }: WeightsOptions,
  optimizers: OptimizerSet,
): Promise<HostTensors> {
  const { files } = await store.load({ name });
  const isAverage = (file: string): boolean =>
    typeof averaged === "string"
      ? file === `model-${averaged}${ENDING}`
      : file.startsWith("model-") && file.endsWith(ENDING);
  const found = averaged === false ? undefined : Object.keys(files).find(isAverage);
  if (found !== undefined) return readTensors(files[found]!, `${name}/${found}`);
  return fromFiles(files, name, optimizers).model;
}

const readTensors = (bytes: Uint8Array, path: string): HostTensors =>
  toHostArrays(decodeSafetensors(bytes, path).tensors, path);

function readState(bytes: Uint8Array, path: string): SavedState {
  let state: SavedState;
  try {
    // A copy: the bytes may be in shared memory, which decoders refuse.
    state = parseExact(new TextDecoder().decode(new Uint8Array(bytes))) as SavedState;
  } catch (error) {
    throw new CheckpointError(path, "it is not valid JSON", "Use another checkpoint.", { cause: error });
  }
  if (typeof state?.schema !== "number" || typeof state.position !== "object") {
    throw new CheckpointError(path, "it is not the state of a run", "Use another checkpoint.");
  }
  if (state.schema > STATE_SCHEMA) {
    throw new CheckpointError(path, `it was written by a newer hookline (schema ${state.schema})`, "Update hookline.");
  }
  return state;
}

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
