// Full checkpoints as PyTorch programs keep them (weights, optimizers' state dicts, counters), and the description of the
// format.
import { type BadFile, badFile, countNumbers, type FileTensors, isFileTensor, joinBytes, quote } from "../tensor.ts";
import type { FileContents, WeightsFormat } from "../weights-formats.ts";
import { decodePt, ptParts } from "./pt.ts";
import {
  type TorchOptimizer,
  type TorchOptimizerState,
  fromTorchOptimizer,
  isDict,
  isOptimizerState,
  numberIn,
  toTorchOptimizer,
} from "./torch-optimizer.ts";
import type { PtValue } from "./pickle-writer.ts";

/** What is written. */
export interface TorchCheckpoint {
  readonly model: Readonly<FileTensors>;
  readonly optimizers: readonly TorchOptimizer[];
  readonly step: number;
  readonly epoch: number;
}

/** What was read. */
export interface ReadTorchCheckpoint {
  readonly model: FileTensors;
  /** In the order of `paramNames`; none when there was no such option. */
  readonly optimizers: readonly TorchOptimizerState[];
  readonly step: number | undefined;
  readonly epoch: number | undefined;
}

/** The names of an optimizer's parameters, group by group, in PyTorch's order. */
type ParamNames = readonly (readonly string[])[];

/** Options of reading a .pt file. */
export interface ReadTorchOptions {
  /** Whose state to read besides the weights: one optimizer's parameters, or those of several by the optimizer's name. */
  readonly paramNames?: ParamNames | Readonly<Record<string, ParamNames>>;
  /** What the parameters look like; by default as the weights in the file under the same names. */
  readonly shapes?: Readonly<Record<string, { readonly shape: readonly number[] }>>;
  /** The part of the file that has the weights, where it has several. */
  readonly key?: string;
}

/**
 * A .pt file in parts, `{ model, optimizer, epoch, step }`, for `model.load_state_dict(ckpt["model"])` and
 * `optimizer.load_state_dict(ckpt["optimizer"])`; of several optimizers, `optimizer` has each under its name.
 */
export function torchCheckpointParts({ model, optimizers, step, epoch }: TorchCheckpoint): Uint8Array[] {
  const shapeOf = (param: string) => (Object.hasOwn(model, param) ? model[param]!.shape : undefined);
  const states = optimizers.map((each) => [each.name, toTorchOptimizer(each, shapeOf)] as const);
  const [first, second] = states;
  return ptParts({
    model,
    ...(first && { optimizer: second ? Object.fromEntries(states) : first[1] }),
    epoch,
    step,
  });
}

/** The bytes of a .pt file that PyTorch loads: weights, and the optimizers' state. */
export const encodeTorchCheckpoint = (checkpoint: TorchCheckpoint): Uint8Array =>
  joinBytes(torchCheckpointParts(checkpoint));

/** The reason of the error for a file that has weights alone. */
export const NO_OPTIMIZER = "it has no optimizer's state";

const MODEL_KEYS = ["model", "state_dict", "model_state_dict", "model_state", "module", "net"];
const OPTIMIZER_KEYS = ["optimizer", "optimizer_state_dict", "optimizer_states", "optimizer_state", "optim"];
const STEP_KEYS = ["step", "global_step", "iteration", "iter"];

/** The weights in a .pt file: all of it, the part that is named as such parts are, or the only one that is a state dict. */
export function weightsIn(value: PtValue, what: string, key?: string): FileTensors {
  if (key !== undefined || !isDict(value) || isStateDict(value)) return stateDictIn(value, what, key);
  const parts = Object.keys(value).filter((name) => isStateDict(value[name]));
  const usual = MODEL_KEYS.find((name) => parts.includes(name)) ?? (parts.length === 1 ? parts[0] : undefined);
  return stateDictIn(value, what, usual);
}

const isStateDict = (value: PtValue | undefined): value is FileTensors =>
  typeof value === "object" &&
  value !== null &&
  !ArrayBuffer.isView(value) &&
  Object.values(value).length > 0 &&
  Object.values(value).every(isFileTensor);

/** The state dict in what a .pt file holds: the whole of it, or the part named `key` of a full checkpoint. */
export function stateDictIn(value: PtValue, what: string, key?: string): FileTensors {
  const bad = badFile(what);
  const parts =
    typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, PtValue>) : {};
  const part = key === undefined ? value : Object.hasOwn(parts, key) ? parts[key] : undefined;
  if (isStateDict(part)) return part;
  const found = Object.keys(parts).filter((name) => isStateDict(parts[name]));
  throw bad(
    key === undefined ? "it holds more than tensors" : `it has no tensors under ${quote(key)}`,
    found.length > 0
      ? `Say which part to take: ${found.map(quote).join(", ")}.`
      : "It has no part that is a state dict.",
  );
}

/**
 * Reads what PyTorch programs save: a bare state dict, or `{ model | state_dict | model_state_dict, optimizer |
 * optimizer_state_dict | optimizer_states, epoch, step | global_step | iteration }`. `what` names it in errors.
 */
export function decodeTorchCheckpoint(
  file: PtValue | Uint8Array,
  what: string,
  { paramNames, shapes, key }: ReadTorchOptions = {},
): ReadTorchCheckpoint {
  const value = file instanceof Uint8Array ? decodePt(file, what) : file;
  const model = weightsIn(value, what, key);
  const parts = isDict(value) && value !== model ? value : {};
  const find = (keys: readonly string[]): PtValue | undefined =>
    keys.filter((name) => Object.hasOwn(parts, name)).map((name) => parts[name])[0];
  const [step, epoch] = [numberIn(find(STEP_KEYS)), numberIn(find(["epoch"]))];
  if (paramNames === undefined) return { model, optimizers: [], step, epoch };
  const bad = badFile(what);
  const known = shapes ?? model;
  const shapeOf = (param: string) => (Object.hasOwn(known, param) ? known[param]!.shape : undefined);
  const optimizers = paired(find(OPTIMIZER_KEYS), paramNames, bad).map(([name, groups, dict]) =>
    fromTorchOptimizer(dict, { name, groups }, step, shapeOf, bad),
  );
  return { model, optimizers, step, epoch };
}

/** Each optimizer that was asked for with its state dict: by name, or in order where the file has no names. */
function paired(
  found: PtValue | undefined,
  paramNames: ParamNames | Readonly<Record<string, ParamNames>>,
  bad: BadFile,
): [name: string, groups: ParamNames, dict: PtValue][] {
  const wanted = isList(paramNames) ? { optimizer: paramNames } : paramNames;
  const names = Object.keys(wanted);
  const alone = isOptimizerState(found) ? [found] : undefined;
  const dicts = alone ?? (Array.isArray(found) ? (found as readonly PtValue[]) : undefined);
  const byName = dicts === undefined && isDict(found) ? found : {};
  const there = dicts?.length ?? Object.keys(byName).length;
  if (there === 0)
    throw bad(NO_OPTIMIZER, `It is looked for under ${OPTIMIZER_KEYS.join(", ")}: load the weights alone.`);
  if (there !== names.length)
    throw bad(
      `it has the state of ${there} optimizers, and ${names.length} are expected (${names.join(", ")})`,
      "Train with as many optimizers as the file has, or load the weights alone.",
    );
  const inOrder = dicts ?? (there === 1 ? Object.values(byName) : undefined);
  return names.map((name, i) => {
    const dict = inOrder ? inOrder[i] : Object.hasOwn(byName, name) ? byName[name] : undefined;
    if (dict !== undefined) return [name, wanted[name]!, dict];
    throw bad(
      `it has no state of an optimizer ${quote(name)}`,
      `It has: ${Object.keys(byName).map(quote).join(", ")}. Name the optimizers alike, or load the weights alone.`,
    );
  });
}

const isList = (value: object): value is ParamNames => Array.isArray(value);

/** All tensors in a value, each with the path to it. */
function* tensorsIn(value: PtValue, name = ""): Generator<FileContents["tensors"][number]> {
  if (isFileTensor(value)) {
    const { dtype, shape, bytes } = value;
    yield { name, dtype, shape, bytes: bytes.length };
  } else if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
    const parts = value instanceof Map ? value : Object.entries(value as Record<string, PtValue>);
    for (const [key, part] of parts) yield* tensorsIn(part, name === "" ? String(key) : `${name}.${key}`);
  }
}

/** The model's weights; none in a file of something else. */
function modelIn(value: PtValue): FileTensors {
  try {
    return weightsIn(value, "a file");
  } catch {
    return {};
  }
}

export const pt: WeightsFormat = {
  name: "pt",
  endings: [".pt", ".pth", ".bin", ".ckpt"],
  modelFile: "pytorch_model.bin",
  checkpointFile: { name: "checkpoint.pt", key: "model" },
  read: (bytes, path, key) => ({ tensors: weightsIn(decodePt(bytes, path), path, key), metadata: {} }),
  encode: ptParts,
  async inspect(file, path) {
    const value = decodePt(await file.read(0, file.size), path);
    return { tensors: [...tensorsIn(value)], parameters: countNumbers(Object.values(modelIn(value))) };
  },
};
