// The running optimizers: groups with their live values, schedules, and the scalars of each update.
import type { LiveGroup, LiveOptimizer, GroupValues, Optimizer, Schedule, ScheduleTime } from "../core/optimizer.ts";
import { ContextError, OptionError } from "../core/errors.ts";
import type { HookTurn } from "../core/interventions.ts";
import type { GroupAssignment } from "../core/verbs.ts";
import type { HostTensors } from "../core/model.ts";
import { type NameFilter, monitorValue, selectNames, unknownMonitor } from "../core/names.ts";
import { type Json, show } from "../core/options.ts";
import { assignOnly } from "../core/write-guard.ts";
import { resolveGroups } from "../optim/groups.ts";
import type { DeviceState } from "./device-state.ts";
import type { ControlLayout } from "./programs/run.ts";
import { ownSlot, slotName, type UpdateRule } from "./programs/programs.ts";

interface Group {
  readonly name: string;
  readonly params: readonly string[];
  readonly prefix: string;
  /** As the optimizer was made. */
  readonly option: Readonly<GroupValues>;
  /** The same, as they are now: weight decay and momentum may be assigned. */
  readonly values: GroupValues;
  /** What hooks made of the rate: a factor on the schedule. */
  factor: number;
}

export interface Slot {
  readonly name: string;
  readonly optimizer: Optimizer;
  readonly schedule: Schedule | undefined;
  readonly groups: readonly Group[];
  readonly rule: UpdateRule;
  /** The schedule's factor now. */
  scheduled: number;
  /** Updates done. */
  updates: number;
  /** The first group's rate in this step's update, once it began. */
  used: number | undefined;
}

export type OptimizerOption = Optimizer | Readonly<Record<string, Optimizer>>;

const isOptimizer = (option: OptimizerOption): option is Optimizer => typeof (option as Optimizer).leaf === "function";

function checkRate(lr: number): number {
  if (typeof lr === "number" && Number.isFinite(lr) && lr >= 0) return lr;
  throw new ContextError(`A learning rate must be a finite number ≥ 0, got ${show(lr)}.`);
}

/** What a hook may assign in a group. */
const GROUP_FIELDS = ["lr", "weightDecay", "momentum"] as const satisfies readonly (keyof GroupAssignment)[];

export class OptimizerSet {
  readonly slots: readonly Slot[];
  /** Slots of own optimizer steps, for every parameter, whichever optimizer has it. */
  readonly #own = new Set<string>();

  constructor(
    option: OptimizerOption,
    schedule: Schedule | undefined,
    paramNames: readonly string[],
    loaderNames: readonly string[],
  ) {
    const entries = isOptimizer(option) ? [["optimizer", option] as const] : Object.entries(option);
    if (entries.length === 0)
      throw new OptionError(`Trainer: \`optimizer\` is an empty object; give at least one optimizer.`);
    const owner = new Map<string, string>();
    this.slots = entries.map(([name, optimizer], i) => {
      if (!optimizer || !isOptimizer(optimizer)) {
        throw new OptionError(
          `Trainer: Expected \`optimizer.${name}\` to be an optimizer such as adamw({ lr: 1e-3 }), got ${show(optimizer)}`,
        );
      }
      if (optimizer.loader !== undefined && !loaderNames.includes(optimizer.loader)) {
        throw new OptionError(
          `Optimizer \`${name}\`: no training loader is named \`${optimizer.loader}\`. Loaders: ${loaderNames.join(", ")}.`,
        );
      }
      const resolved = resolveGroups(optimizer, paramNames);
      for (const param of resolved.flatMap((group) => group.params)) {
        const other = owner.get(param);
        if (other !== undefined)
          throw new OptionError(
            `Parameter \`${param}\` belongs to two optimizers, \`${other}\` and \`${name}\`. Give each its own \`params\`.`,
          );
        owner.set(param, name);
      }
      const groups = resolved.map((group, j): Group => ({
        name: group.name,
        params: group.params,
        prefix: `o${i}g${j}.`,
        option: group.values,
        values: { ...group.values },
        factor: 1,
      }));
      const rule: UpdateRule = { optimizer, prefix: `o${i}`, groups };
      return {
        name,
        optimizer,
        schedule: optimizer.schedule ?? schedule,
        groups,
        rule,
        scheduled: 1,
        updates: 0,
        used: undefined,
      };
    });
    this.#checkLoaders(loaderNames);
    // An earlier run may have used the same object.
    for (const { schedule: each } of this.slots) each?.reset?.();
  }

  /** Every loader must have an optimizer that learns from it. */
  #checkLoaders(loaderNames: readonly string[]): void {
    for (const loader of loaderNames) {
      if (this.due(loader).length > 0) continue;
      throw new OptionError(
        `No optimizer updates on batches of loader \`${loader}\`: all are tied to others. Tie one to it, or leave out \`loader\`.`,
      );
    }
  }

  /** Does an optimizer learn from one loader only? Then a step's micro-batches come from one. */
  get tied(): boolean {
    return this.slots.some(({ optimizer }) => optimizer.loader !== undefined);
  }

  /** Names of all optimizer state: one tensor per slot and parameter. */
  get slotNames(): string[] {
    const kept = this.slots.flatMap(({ optimizer, groups }) =>
      groups.flatMap(({ params }) => params.flatMap((name) => optimizer.slots.map((slot) => slotName(slot, name)))),
    );
    const all = this.slots.flatMap(({ groups }) => groups.flatMap(({ params }) => params));
    return [...kept, ...[...this.#own].flatMap((slot) => all.map((name) => slotName(ownSlot(slot), name)))];
  }

  /** Makes room for what an own optimizer step keeps. */
  addOwnSlots(slots: readonly string[]): void {
    for (const slot of slots) this.#own.add(slot);
  }

  /** The parameters that one optimizer owns. */
  paramsOf(index: number): ReadonlySet<string> {
    return new Set(this.slots[index]!.groups.flatMap(({ params }) => params));
  }

  /** Counts an update of each of these optimizers. */
  updated(due: readonly number[]): void {
    for (const i of due) this.slots[i]!.updates++;
  }

  /** Every scalar of every group, by its name in the control vector. */
  controlNames(): string[] {
    return this.slots.flatMap(({ optimizer, groups }) =>
      groups.flatMap(({ prefix, values }) =>
        ["lr", ...Object.keys(optimizer.hyper(values, 1))].map((key) => prefix + key),
      ),
    );
  }

  /** Writes this update's scalars of one optimizer. */
  fill(control: ControlLayout, index: number): void {
    const slot = this.slots[index]!;
    const { optimizer, groups, updates } = slot;
    slot.used = this.rate(index);
    groups.forEach(({ prefix, values }, j) => {
      const lr = this.rate(index, j);
      control.setGroup(prefix, { lr });
      control.setGroup(prefix, optimizer.hyper({ ...values, lr }, updates + 1));
    });
  }

  /** Takes each schedule's factor at the start of a step (or of an epoch, for those that go by epochs). */
  schedule(at: () => ScheduleTime): void {
    for (const slot of this.slots) {
      slot.used = undefined;
      if (slot.schedule) slot.scheduled = slot.schedule.factor(at());
    }
  }

  observe(metrics: Readonly<Record<string, number>>, after: "eval" | "epoch"): void {
    for (const schedule of new Set(this.slots.map((slot) => slot.schedule))) {
      if (schedule?.monitor === undefined) continue;
      // Averages of the training are there when an epoch ends, whether there is an evaluation or not.
      if (schedule.monitor.startsWith("train/") !== (after === "epoch")) continue;
      const value = monitorValue(metrics, schedule.monitor);
      if (value === undefined) throw unknownMonitor(`Schedule \`${schedule.name}\``, schedule.monitor, metrics);
      schedule.observe?.(value);
    }
  }

  /** Optimizers that update on batches of this loader. */
  due(loader: string): number[] {
    return this.slots.flatMap(({ optimizer }, i) =>
      optimizer.loader === undefined || optimizer.loader === loader ? [i] : [],
    );
  }

  /** The rate of this step's update: what hooks set after it belongs to the next. */
  stepRate(index: number): number {
    return this.slots[index]!.used ?? this.rate(index);
  }

  rate(index: number, group = 0): number {
    const slot = this.slots[index]!;
    const { values, factor } = slot.groups[group]!;
    return values.lr * slot.scheduled * factor;
  }

  /** What every group's rate would be; a function sees each group's own. */
  ratesFor(lr: number | ((current: number) => number)): number[] {
    return this.slots.flatMap((slot, i) =>
      slot.groups.map((_, j) => checkRate(typeof lr === "function" ? lr(this.rate(i, j)) : lr)),
    );
  }

  /** Sets them, one after the other. */
  setRates(rates: readonly number[]): void {
    const left = rates.values();
    this.slots.forEach((slot, i) => slot.groups.forEach((_, j) => this.#setRate(i, j, left.next().value!)));
  }

  /** Carries out a hook's assignment to a group. */
  assign(index: number, at: number, { lr, ...values }: GroupAssignment): void {
    if (lr !== undefined) this.#setRate(index, at, lr);
    Object.assign(this.slots[index]!.groups[at]!.values, values);
  }

  #setRate(index: number, group: number, lr: number): void {
    const slot = this.slots[index]!;
    const { values } = slot.groups[group]!;
    // While the schedule itself is at zero (the first step of a warm-up) no factor can reach the rate: aim at the base.
    const scheduled = values.lr * slot.scheduled || values.lr;
    slot.groups[group]!.factor = scheduled === 0 ? 0 : lr / scheduled;
  }

  /** The optimizers as one hook sees them: its assignments are recorded under its name. */
  live(turn: HookTurn, device: () => DeviceState): LiveOptimizer[] {
    return this.slots.map((slot, i) => {
      const where = `ctx.optimizers[${i}]`;
      const optimizer: LiveOptimizer = {
        state: (params) => this.#readState(slot, device(), params),
        name: slot.name,
        get updates() {
          return slot.updates;
        },
        groups: slot.groups.map((group, j) =>
          assignOnly(`${where}.groups[${j}]`, this.#liveGroup(turn, i, j, group), GROUP_FIELDS),
        ),
      };
      return assignOnly(where, optimizer, [], {
        fields: GROUP_FIELDS,
        place: `${where}.groups[0]`,
      });
    });
  }

  async #readState(
    { name, optimizer, groups }: Slot,
    device: DeviceState,
    filter: NameFilter | undefined,
  ): Promise<Record<string, HostTensors>> {
    const all = groups.flatMap(({ params }) => params);
    const chosen = filter === undefined ? all : selectNames(filter, all);
    if (chosen.length === 0)
      throw new ContextError(`Optimizer \`${name}\`: state() matches none of its parameters: ${all.join(", ")}.`);
    const states = optimizer.slots.map(async (slot) => {
      const tensors = chosen.map(async (param) => [param, await device.readSlot(slotName(slot, param))] as const);
      return [slot, Object.fromEntries(await Promise.all(tensors))] as const;
    });
    return Object.fromEntries(await Promise.all(states));
  }

  #liveGroup(turn: HookTurn, index: number, at: number, group: Group): LiveGroup {
    const slot = this.slots[index]!;
    const where = `optimizers[${index}].groups[${at}]`;
    const rate = (): number => this.rate(index, at);
    const request = (key: keyof GroupAssignment, value: number): void => turn.request("assign", index, at, key, value);
    const assign = (key: "weightDecay" | "momentum", value: number): void => {
      if (typeof value !== "number" || !Number.isFinite(value) || value < 0)
        throw new ContextError(`${where}.${key} must be a finite number ≥ 0, got ${show(value)}.`);
      if (group.values[key] === undefined) {
        throw new ContextError(
          `${where}.${key}: this ${slot.optimizer.name} has no ${key}. Optimizers that can (sgd, rmsprop) keep one when made with ${key}: 0 or more.`,
        );
      }
      request(key, value);
    };
    return {
      name: group.name,
      params: group.params,
      get lr() {
        return rate();
      },
      set lr(lr: number) {
        request("lr", checkRate(lr));
      },
      get scheduledLr() {
        return group.values.lr * slot.scheduled;
      },
      get weightDecay() {
        return group.values.weightDecay;
      },
      set weightDecay(value: number) {
        assign("weightDecay", value);
      },
      get momentum() {
        return group.values.momentum;
      },
      set momentum(value: number | undefined) {
        assign("momentum", value!);
      },
    };
  }
}

// What a checkpoint keeps of the running optimizers, besides their tensors: counts, factors, and what hooks assigned.

export interface OptimizerState {
  readonly name: string;
  readonly updates: number;
  readonly scheduled: number;
  readonly used: number | null;
  readonly schedule: Json;
  readonly groups: readonly {
    readonly name: string;
    readonly factor: number;
    /** As given to the optimizer then: where it is another one now, the one given now holds. */
    readonly option: Readonly<GroupValues>;
    readonly values: Readonly<GroupValues>;
  }[];
}

export const optimizerState = ({ name, updates, scheduled, used, schedule, groups }: Slot): OptimizerState => ({
  name,
  updates,
  scheduled,
  used: used ?? null,
  schedule: schedule?.state?.() ?? null,
  groups: groups.map((group) => ({
    name: group.name,
    factor: group.factor,
    option: { ...group.option },
    values: { ...group.values },
  })),
});

/** Loads a saved state; reports each option that differs from the saved one. */
export function loadOptimizer(slot: Slot, saved: OptimizerState, changed: (what: string) => void): void {
  rewindOptimizer(slot, saved);
  slot.scheduled = saved.scheduled;
  slot.used = saved.used ?? undefined;
  for (const group of slot.groups) {
    const then = saved.groups.find(({ name }) => name === group.name);
    if (!then) continue;
    group.factor = then.factor;
    for (const key of ["lr", "weightDecay", "momentum"] as const) {
      const [option, before] = [group.option[key], then.option[key]];
      if (option !== before) changed(`${slot.name}.${group.name}.${key}: ${option} instead of ${before}`);
      else if (then.values[key] !== undefined) group.values[key] = then.values[key];
    }
  }
}

/** A rollback: the count that belongs to the tensors, and the schedule's memory; what hooks did to the rates stays. */
export function rewindOptimizer(slot: Slot, { updates, schedule }: OptimizerState): void {
  slot.updates = updates;
  if (schedule !== null) slot.schedule?.load?.(schedule);
}
