// What a checkpoint keeps of the running optimizers, besides their tensors: counts, factors, and what hooks assigned.
import type { Json } from "../core/json.ts";
import type { GroupValues } from "../core/optimizer.ts";
import type { Slot } from "./optimizers.ts";

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

/** Goes on from a saved state; tells of each option that is another one now. */
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
