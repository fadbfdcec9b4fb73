// Between optimizer state as it is named here, `<slot>/<parameter>`, and PyTorch's `optimizer.state_dict()`, which numbers
// the parameters.
import type { TorchLayout } from "../../../core/optimizer.ts";
import { type BadFile, type FileTensor, type FileTensors, badFile, quote, isFileTensor } from "../tensor.ts";
import { toHostArrays } from "../tensor-values.ts";
import { type PtValue, asTuple } from "./pickle-writer.ts";

type HyperValue = number | boolean | readonly number[];

/** The numbers of one group: `lr` as it is now (the schedule's factor in it), and all others the optimizer has. */
export interface TorchValues {
  readonly lr: number;
  readonly weightDecay: number;
  readonly momentum?: number;
  /** `betas`, `eps`, `dampening`, …: PyTorch's names, written as names are written here. */
  readonly [hyper: string]: HyperValue | undefined;
}

/** A parameter group of PyTorch's. */
export interface TorchGroup {
  readonly params: readonly string[];
  readonly values: TorchValues;
}

/** The state of one of PyTorch's optimizers, by the names of parameters. */
export interface TorchOptimizerState {
  readonly name: string;
  readonly groups: readonly TorchGroup[];
  /** Updates done. */
  readonly updates: number;
  /** By `<slot>/<parameter>`: `exp_avg/0.weight`. */
  readonly slots: Readonly<FileTensors>;
}

/** An optimizer as it is written. */
export interface TorchOptimizer extends TorchOptimizerState {
  /** Which one, for messages: "adamw". */
  readonly kind: string;
  /** What the optimizer says of it: `adamw().torch`. Default: each parameter's state has a `step`. */
  readonly layout?: TorchLayout;
}

/** Tells the shape of a parameter, as far as it is known. */
export type ShapeOf = (param: string) => readonly number[] | undefined;

const DEFAULT_LAYOUT: TorchLayout = { step: true, needs: [], group: {} };

const toSnake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** What `optimizer.load_state_dict` takes. */
export function toTorchOptimizer(
  { name, kind, layout = DEFAULT_LAYOUT, groups, updates, slots }: TorchOptimizer,
  shapeOf: ShapeOf,
): PtValue {
  const bad = badFile(`the state of optimizer ${quote(name)} to be written`);
  const { step, needs, group } = layout;
  const names = groups.flatMap(({ params }) => params);
  const bySlot = slotsByParam(slots, new Set(names), shapeOf, bad);
  const state = new Map<number, PtValue>();
  // Before its first update PyTorch's state is empty: zeros would count as a first update that was done.
  for (const [index, param] of names.entries()) {
    const own = updates === 0 ? undefined : bySlot.get(param);
    if (own) state.set(index, { ...(step && { step: scalar(updates) }), ...own });
  }
  let first = 0;
  const paramGroups = groups.map(({ params, values }) => {
    const missing = needs.find((key) => values[key] === undefined);
    if (missing !== undefined)
      throw bad(`a group lacks ${quote(missing)}, which ${kind} has`, `Give it among the group's values.`);
    const numbered = params.map((_, i) => first + i);
    first += params.length;
    return { ...group, ...snakeValues(values), params: numbered };
  });
  return { state, param_groups: paramGroups };
}

const scalar = (value: number): FileTensor => ({
  dtype: "F32",
  shape: [],
  bytes: new Uint8Array(Float32Array.of(value).buffer),
});

function slotsByParam(
  slots: Readonly<FileTensors>,
  params: ReadonlySet<string>,
  shapeOf: ShapeOf,
  bad: BadFile,
): Map<string, FileTensors> {
  const found = new Map<string, FileTensors>();
  for (const [key, tensor] of Object.entries(slots)) {
    const cut = key.indexOf("/");
    const [slot, param] = [key.slice(0, cut), key.slice(cut + 1)];
    if (cut < 1 || !params.has(param)) throw bad(`${quote(key)} is no state of its parameters`, "Correct its name.");
    checkShape(`its ${slot}`, tensor, param, shapeOf, bad);
    found.set(param, { ...found.get(param), [slot]: tensor });
  }
  return found;
}

function checkShape(what: string, { shape }: FileTensor, param: string, shapeOf: ShapeOf, bad: BadFile): void {
  const own = shapeOf(param);
  if (own === undefined || own.join() === shape.join()) return;
  throw bad(
    `${what} has shape [${shape.join(", ")}], and parameter ${quote(param)} has [${own.join(", ")}]`,
    "PyTorch numbers parameters in the order of model.parameters(), group by group: make the model and the groups in the same order, or load the weights alone.",
  );
}

function snakeValues(values: TorchValues): Record<string, PtValue> {
  const entries = Object.entries(values).filter((entry): entry is [string, HyperValue] => entry[1] !== undefined);
  // PyTorch has its lists of numbers (betas) as tuples.
  return Object.fromEntries(
    entries.map(([key, value]) => [toSnake(key), typeof value === "object" ? asTuple([...value]) : value]),
  );
}

const toCamel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

type Dict = Readonly<Record<string, PtValue>>;

export const isDict = (value: PtValue | undefined): value is Dict =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !ArrayBuffer.isView(value) &&
  !(value instanceof Map) &&
  !isFileTensor(value);

export const isOptimizerState = (value: PtValue | undefined): value is Dict =>
  isDict(value) && Array.isArray(value.param_groups) && (isDict(value.state) || value.state instanceof Map);

/** A number, or the only element of a tensor. */
export function numberIn(value: PtValue | undefined): number | undefined {
  if (typeof value === "number") return value;
  if (!isFileTensor(value) || value.shape.some((size) => size !== 1)) return undefined;
  return toHostArrays({ value }, "a tensor").value!.data[0];
}

/** What else a group may have: how PyTorch computes, not what. */
const NO_VALUES = ["params", "param_names", "foreach", "capturable", "differentiable", "fused"];
/** What would change the numbers and has no counterpart here. */
const REFUSED = ["amsgrad", "maximize"];

/**
 * Reads an optimizer's state dict. PyTorch numbers parameters, so `groups` has the names, group by group in order.
 * `steps` is how many steps the checkpoint speaks of, for optimizers that do not count for themselves (SGD).
 */
export function fromTorchOptimizer(
  dict: PtValue,
  { name, groups }: { readonly name: string; readonly groups: readonly (readonly string[])[] },
  steps: number | undefined,
  shapeOf: ShapeOf,
  bad: BadFile,
): TorchOptimizerState {
  const which = `its optimizer ${quote(name)}`;
  const same = "Make the optimizer with the same parameters and groups as in PyTorch, or load the weights alone.";
  if (!isOptimizerState(dict)) throw bad(`${which} is no state dict with \`state\` and \`param_groups\``);
  const found = dict.param_groups as readonly PtValue[];
  if (found.length !== groups.length)
    throw bad(`${which} has ${count(found.length, "parameter group")}, and ${groups.length} are expected`, same);
  const state = dict.state instanceof Map ? dict.state : new Map(Object.entries(dict.state as Dict));
  const slots = Object.create(null) as FileTensors;
  let counted: number | undefined;
  const read = found.map((group, g): TorchGroup => {
    const params = groups[g]!;
    if (!isDict(group) || !Array.isArray(group.params)) throw bad(`${which} has a group without \`params\``);
    if (group.params.length !== params.length) {
      const has = count(group.params.length, "parameter");
      throw bad(`group ${g} of ${which} has ${has}, and ${params.length} are expected`, same);
    }
    for (const [param, id] of named(params, group, bad)) {
      const own = state.get(id);
      if (!isDict(own)) continue;
      for (const [slot, value] of Object.entries(own)) {
        if (slot === "step") counted = Math.max(counted ?? 0, wholeIn(value, which, bad));
        else if (isFileTensor(value)) {
          checkShape(`the ${slot} of parameter ${id} of ${which}`, value, param, shapeOf, bad);
          slots[`${slot}/${param}`] = value;
        }
      }
    }
    return { params, values: camelValues(group, which, bad) };
  });
  // One count serves all parameters here. Those that were frozen for a while have lower ones in PyTorch: the highest is
  // how often the optimizer has updated, and the lower ones only corrected for a start that is long over.
  const updates = counted ?? steps ?? (Object.keys(slots).length > 0 ? 1 : 0);
  return { name, groups: read, updates, slots };
}

function wholeIn(value: PtValue, which: string, bad: BadFile): number {
  const step = numberIn(value);
  if (step !== undefined && Number.isSafeInteger(step) && step >= 0) return step;
  throw bad(`${which} has a \`step\` that is no whole number`);
}

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;

/** Each parameter with its number in the state dict: in order, or by name where the file has names. */
function named(params: readonly string[], group: Dict, bad: BadFile): [param: string, id: string | number][] {
  const ids = group.params as readonly (string | number)[];
  const names = (Array.isArray(group.param_names) ? group.param_names : ids) as readonly PtValue[];
  if (names.length !== ids.length || !names.every((name) => typeof name === "string"))
    return params.map((param, i) => [param, ids[i]!]);
  return params.map((param) => {
    // The model may have been wrapped there: "module.0.weight".
    const at = names.findIndex((name) => name === param || name.endsWith(`.${param}`));
    if (at >= 0) return [param, ids[at]!];
    const some = names.slice(0, 5).map(quote).join(", ");
    throw bad(
      `its optimizer names no parameter ${quote(param)} among ${some}${names.length > 5 ? ", …" : ""}`,
      "Name the model's parts as in PyTorch, or load the weights alone.",
    );
  });
}

function camelValues(group: Dict, which: string, bad: BadFile): TorchValues {
  const values: Record<string, HyperValue> = {};
  for (const [key, value] of Object.entries(group)) {
    if (REFUSED.includes(key) && value === true)
      throw bad(`${which} was made with ${key}=True, which there is not here`, "Load the weights alone.");
    if (NO_VALUES.includes(key) || REFUSED.includes(key)) continue;
    const number = numberIn(value);
    if (number !== undefined) values[toCamel(key)] = number;
    else if (typeof value === "boolean") values[toCamel(key)] = value;
    else if (Array.isArray(value)) {
      const numbers = value.map((each) => numberIn(each as PtValue));
      if (numbers.every((each) => each !== undefined)) values[toCamel(key)] = numbers;
    }
  }
  if (typeof values.lr !== "number") throw bad(`${which} has a group without \`lr\``);
  return { weightDecay: 0, ...values, lr: values.lr };
}
