// Between a snapshot and the files of a checkpoint. Loaded with the first checkpoint that is written or read.
import { matchTensors, renameTensors } from "../../checkpoint/formats/state-dict.ts";
import type { FileTensors } from "../../checkpoint/formats/tensor.ts";
import { toHostArrays } from "../../checkpoint/formats/tensor-values.ts";
import type { PtValue } from "../../checkpoint/formats/torch/pickle-writer.ts";
import { decodePt } from "../../checkpoint/formats/torch/pt.ts";
import {
  decodeTorchCheckpoint,
  NO_OPTIMIZER,
  torchCheckpointParts,
  weightsIn,
} from "../../checkpoint/formats/torch/torch-checkpoint.ts";
import type { TorchOptimizer } from "../../checkpoint/formats/torch/torch-optimizer.ts";
import { averageIn, FORMATS, formatOfFile, type WeightsFormat } from "../../checkpoint/formats/weights-formats.ts";
import type { CheckpointFiles, CheckpointStore, FileParts, LentFiles } from "../../checkpoint/store.ts";
import { CheckpointError } from "../../core/errors.ts";
import type { HostTensors } from "../../core/model.ts";
import type { WeightsFormatName, WeightsOptions } from "../../core/saving.ts";
import type { Engine } from "../../engines/engine.ts";
import { parseExact } from "../../runs/exact-json.ts";
import type { TensorSpecs } from "../initial.ts";
import type { OptimizerSet, OptimizerState, Slot } from "../optimizers.ts";
import { paramOfSlot, slotName } from "../programs/programs.ts";
import { STATE_SCHEMA, type SavedState, type Snapshot, type SnapshotMemory } from "./snapshot.ts";

const STATE_FILE = "state.json";
const { safetensors, pt } = FORMATS;
const TORCH_FILE = pt.checkpointFile.name;

/** The files of a checkpoint, as chunks in `memory`, which the writing thread sees too. */
export async function toFiles(
  snapshot: Snapshot,
  memory: SnapshotMemory,
  more: CheckpointFiles,
  format: WeightsFormatName,
  optimizers: OptimizerSet,
): Promise<FileParts> {
  const all = Object.values(snapshot.tensors);
  memory.begin(
    all.reduce((sum, held) => sum + held.bytes, 0),
    all.reduce((sum, held) => sum + held.names.length, 0),
  );
  const tensors: Record<string, FileTensors> = {};
  for (const [file, held] of Object.entries(snapshot.tensors)) tensors[file] = await held.toWrite(memory);
  if (format !== "pt") return { ...more, ...tensorFiles(tensors, FORMATS[format]), ...stateFile(snapshot) };
  // A .pt file has the model and its optimizers together, as PyTorch programs keep them.
  const { model, optimizer, ...others } = tensors;
  const { step, epoch, position } = snapshot;
  const states = torchOptimizers(optimizers, position.optimizers, optimizer!);
  const torch = torchCheckpointParts({ model: model!, optimizers: states, step, epoch });
  return { ...more, [TORCH_FILE]: torch, ...tensorFiles(others, safetensors), ...stateFile(snapshot) };
}

/** The same without copies: the store reads the tensors in place until the snapshot is freed. Undefined if it cannot. */
export async function toLentFiles(
  snapshot: Snapshot,
  engine: Engine,
  more: CheckpointFiles,
): Promise<{ files: FileParts; lent: LentFiles } | undefined> {
  const bytesOf = engine.lend?.(Object.values(snapshot.tensors).flatMap((held) => held.lendable));
  if (!bytesOf) return undefined;
  const lent: Record<string, LentFiles[string]> = {};
  for (const [file, held] of Object.entries(snapshot.tensors)) {
    const tensors = await held.toLend(bytesOf);
    lent[file + safetensors.endings[0]!] = () => safetensors.encode(tensors());
  }
  return { files: { ...more, ...stateFile(snapshot) }, lent };
}

const stateFile = ({ state }: Snapshot): CheckpointFiles => ({ [STATE_FILE]: state });

const tensorFiles = (tensors: Readonly<Record<string, FileTensors>>, { endings, encode }: WeightsFormat): FileParts =>
  Object.fromEntries(Object.entries(tensors).map(([file, each]) => [file + endings[0]!, encode(each)]));

/** The decoded contents of a checkpoint, or of a file of other software. */
export interface ReadCheckpoint {
  /** The checkpoint or file, for errors. */
  readonly where: string;
  readonly model: HostTensors;
  readonly optimizer: HostTensors;
  /** Undefined in files of other software. */
  readonly state?: SavedState;
  /** Updates that the optimizers have done, by name, if there is no `state`. */
  readonly updates?: Readonly<Record<string, number>>;
  /** Why the optimizers' state cannot be used: thrown once the model fits. */
  readonly unfit?: CheckpointError;
  tensorsIn(file: string): HostTensors;
}

/** The model's tensors, in its order. Throws a CheckpointError if names or shapes differ, or the optimizers do not fit. */
export function fitModel({ model, where, unfit }: ReadCheckpoint, own: TensorSpecs): HostTensors {
  let tensors: HostTensors;
  try {
    ({ tensors } = matchTensors(model, own, { strict: true }, where));
  } catch (error) {
    const [names, wanted] = [Object.keys(model), Object.keys(own)];
    const alike = names.length === wanted.length && wanted.every((name) => Object.hasOwn(model, name));
    if (alike || !(error instanceof CheckpointError)) throw error;
    // Resuming has no options for names, so the error suggests loadStateDict.
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

/** Decodes a checkpoint's files; `where` names it in errors. */
export function fromFiles(files: CheckpointFiles, where: string, optimizers: OptimizerSet): ReadCheckpoint {
  const bytesOf = (file: string): Uint8Array => {
    const bytes = Object.hasOwn(files, file) ? files[file] : undefined;
    if (bytes) return bytes;
    throw new CheckpointError(`${where}/${file}`, "the checkpoint has no such file", "Use another checkpoint.");
  };
  const tensorsIn = (name: string): HostTensors => {
    const names = Object.values(FORMATS).map(({ endings }) => name + endings[0]!);
    const file = names.find((each) => Object.hasOwn(files, each)) ?? names[0]!;
    return readTensors(file, bytesOf(file), `${where}/${file}`);
  };
  const state = readState(bytesOf(STATE_FILE), `${where}/${STATE_FILE}`);
  const weights = Object.hasOwn(files, TORCH_FILE)
    ? fromTorch(bytesOf(TORCH_FILE), `${where}/${TORCH_FILE}`, optimizers)
    : { model: tensorsIn("model"), optimizer: tensorsIn("optimizer") };
  return { where, ...weights, state, tensorsIn };
}

/** The weights in one of a store's checkpoints: averaged ones if a hook keeps some, unless `averaged` is false. */
export async function weightsOf(
  store: CheckpointStore,
  name: string,
  { averaged }: WeightsOptions,
  optimizers: OptimizerSet,
): Promise<HostTensors> {
  const { files } = await store.load({ name });
  const isWanted = (file: string): boolean => {
    const average = averageIn(file);
    return average !== undefined && (typeof averaged !== "string" || average === averaged);
  };
  const found = averaged === false ? undefined : Object.keys(files).find(isWanted);
  if (found !== undefined) return readTensors(found, files[found]!, `${name}/${found}`);
  return fromFiles(files, name, optimizers).model;
}

const readTensors = (file: string, bytes: Uint8Array, path: string): HostTensors =>
  toHostArrays(formatOfFile(file)!.format.read(bytes, path).tensors, path);

function readState(bytes: Uint8Array, path: string): SavedState {
  let state: SavedState;
  try {
    // A copy: decoders refuse shared memory.
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

/** The optimizers at the time of the snapshot that `slots` are from: training has continued since. */
function torchOptimizers(set: OptimizerSet, then: readonly OptimizerState[], slots: FileTensors): TorchOptimizer[] {
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
  /** Why the optimizers' state cannot be used. */
  readonly unfit?: CheckpointError;
}

/** Reads a .pt file of hookline or of a PyTorch program. It may have weights alone. */
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

/** Optimizers that start fresh. */
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
  const continues = ({ optimizer, groups }: Slot): boolean =>
    groups.some(({ params }) =>
      params.some((param) => optimizer.slots.some((slot) => Object.hasOwn(states, slotName(slot, param)))),
    );
  return {
    optimizer: toHostArrays(states, path),
    // After another kind of optimizer this one starts fresh and counts its updates from there.
    updates: Object.fromEntries(optimizers.map(({ name, updates }, i) => [name, continues(slots[i]!) ? updates : 0])),
  };
}

/** The prefix that makes all wanted names be among these, such as Lightning's `model.`. */
const prefixOf = (names: readonly string[], wanted: readonly string[]): string | undefined => {
  const [first] = wanted;
  const known = new Set(names);
  return names
    .filter((name) => first !== undefined && name.endsWith(`.${first}`))
    .map((name) => name.slice(0, -first!.length))
    .find((prefix) => wanted.every((name) => known.has(prefix + name)));
};

/** Removes the prefix of a wrapped model (Lightning, DataParallel), if all names have it. */
export function unwrapped<T>(tensors: Record<string, T>, { slots }: OptimizerSet): Record<string, T> {
  const params = slots.flatMap(({ groups }) => groups.flatMap((group) => group.params));
  const names = Object.keys(tensors);
  const prefix = params.every((name) => Object.hasOwn(tensors, name)) ? undefined : prefixOf(names, params);
  const isAll = prefix !== undefined && names.every((name) => name.startsWith(prefix));
  return isAll ? renameTensors(tensors, { prefix }) : tensors;
}
