// What all optimizers share: options for parameter groups, loader and schedule, and their checks.
import { OptionError } from "../core/errors.ts";
import type { NameFilter } from "../core/names.ts";
import type { GroupOptions, GroupValues, Optimizer, Schedule } from "../core/optimizer.ts";
import { type Check, checkOptions, is, one } from "../core/options.ts";

/** What all optimizers take. */
export interface CommonOptions {
  readonly lr?: number;
  readonly weightDecay?: number;
  /** Parameters with other values; a parameter belongs to the first group that matches it. */
  readonly groups?: readonly GroupOptions[];
  /** Which parameters this optimizer updates; all of them when absent. */
  readonly params?: NameFilter;
  /** Update only in steps whose batches come from this loader. */
  readonly loader?: string;
  /** Overrides the trainer's schedule for this optimizer. */
  readonly schedule?: Schedule;
}

/** What every optimizer of PyTorch keeps in its groups. */
export const torchFlags = { maximize: false, foreach: null, differentiable: false };

const nameFilter: Check = {
  expected: "a name pattern, an array of them or a function",
  schema: is.or(is.name, is.arrayOf(is.name), is.function).schema!,
  test: (v) =>
    typeof v === "function" ||
    is.name.test(v) ||
    (Array.isArray(v) && v.length > 0 && v.every((each) => is.name.test(each))),
};

export const isSchedule: Check = {
  expected: "a schedule such as `cosine()`",
  test: (v) => is.object.test(v) && typeof (v as Schedule).factor === "function",
  holds: one("schedule"),
};

/** The checks of the options above; each optimizer adds its own. */
export const commonChecks = {
  lr: is.nonNegative,
  weightDecay: is.nonNegative,
  groups: is.arrayOf(is.object),
  params: nameFilter,
  loader: is.name,
  schedule: isSchedule,
} as const;

export const betasCheck: Check = {
  expected: "two numbers from 0 up to 1 (exclusive)",
  schema: { ...is.arrayOf(is.fraction).schema, minItems: 2, maxItems: 2 },
  test: (v) => Array.isArray(v) && v.length === 2 && v.every((each) => is.fraction.test(each)),
};

function checkGroups(owner: string, groups: readonly GroupOptions[], momentum: boolean): void {
  const checks: Record<string, Check> = {
    params: nameFilter,
    name: is.name,
    lr: is.nonNegative,
    weightDecay: is.nonNegative,
  };
  if (momentum) checks.momentum = is.nonNegative;
  const seen = new Set(["default"]);
  for (const [i, group] of groups.entries()) {
    checkOptions(`${owner}: groups[${i}]`, group, checks, ["params"]);
    const name = groupName(group, i);
    if (seen.has(name)) {
      throw new OptionError(
        `${owner}: groups[${i}] is named \`${name}\`, a name already taken${name === "default" ? " by the parameters that no group matches" : ""}. Give it another \`name\`.`,
      );
    }
    seen.add(name);
  }
}

export const groupName = (group: GroupOptions, index: number): string => group.name ?? `group${index}`;

/** The part of an `Optimizer` that is the same for all. `momentum` undefined: this kind of optimizer has none at all. */
export function common(
  owner: string,
  options: CommonOptions,
  values: { readonly lr: number; readonly weightDecay: number },
  momentum?: { readonly value: number | undefined },
): Omit<Optimizer, "slots" | "hyper" | "leaf"> {
  const { groups = [], params, loader, schedule } = options;
  checkGroups(owner, groups, momentum !== undefined);
  const defaults: GroupValues = { lr: options.lr ?? values.lr, weightDecay: options.weightDecay ?? values.weightDecay };
  if (momentum?.value !== undefined) defaults.momentum = momentum.value;
  return { name: owner, defaults, groups, params, loader, schedule };
}

/** The momentum of parameters outside all groups; undefined if no option mentions momentum, and then no buffer is kept. */
export function defaultMomentum(options: CommonOptions & { readonly momentum?: number }): number | undefined {
  if (options.momentum !== undefined) return options.momentum;
  return options.groups?.some((group) => group.momentum !== undefined) ? 0 : undefined;
}
