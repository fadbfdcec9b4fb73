// Optimizer state, `<slot>/<parameter>` here, as PyTorch's `optimizer.state_dict()` with its numbered parameters.
import { badFile, quote, type BadFile } from "./bad-file.ts";
import { asTuple, type PtValue } from "./pt-value.ts";
import type { FileTensor, FileTensors } from "./tensor.ts";

export type HyperValue = number | boolean | readonly number[];

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
  /** Which one: "adamw". */
  readonly kind: string;
}

/** Tells the shape of a parameter, as far as it is known. */
export type ShapeOf = (param: string) => readonly number[] | undefined;

interface Kind {
  /** Does each parameter's state have a `step`? */
  readonly step: boolean;
  /** Without these PyTorch could not go on, and a default might not be what the run was trained with. */
  readonly needs: readonly string[];
  /** The keys of a group that have no counterpart here: whatever PyTorch from 1.13 to now looks up in a step. */
  readonly group: Readonly<Record<string, PtValue>>;
}

const FLAGS = { maximize: false, foreach: null, differentiable: false };
const ADAM = { ...FLAGS, amsgrad: false, capturable: false, fused: null };

const KINDS: Readonly<Record<string, Kind>> = {
  adam: { step: true, needs: ["betas", "eps"], group: { ...ADAM, decoupled_weight_decay: false } },
  adamw: { step: true, needs: ["betas", "eps"], group: { ...ADAM, decoupled_weight_decay: true } },
  sgd: { step: false, needs: ["dampening", "nesterov"], group: { ...FLAGS, momentum: 0, fused: null } },
  rmsprop: { step: true, needs: ["alpha", "eps", "centered"], group: { ...FLAGS, momentum: 0, capturable: false } },
  // PyTorch has no Lion of its own; this is how the common package (lion-pytorch) keeps it.
  lion: { step: false, needs: ["betas"], group: {} },
};
const OTHER: Kind = { step: true, needs: [], group: {} };

const toSnake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** What `optimizer.load_state_dict` takes. */
export function toTorchOptimizer({ name, kind, groups, updates, slots }: TorchOptimizer, shapeOf: ShapeOf): PtValue {
  const bad = badFile(`the state of optimizer ${quote(name)} to be written`);
  const { step, needs, group } = Object.hasOwn(KINDS, kind) ? KINDS[kind]! : OTHER;
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

export function checkShape(what: string, { shape }: FileTensor, param: string, shapeOf: ShapeOf, bad: BadFile): void {
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
