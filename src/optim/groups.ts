// Assigns parameters to the groups of an optimizer, once when the run starts.
import { OptionError } from "../core/errors.ts";
import { type NameFilter, didYouMean, selectNames } from "../core/names.ts";
import type { GroupValues, Optimizer } from "../core/optimizer.ts";
import { groupName } from "./common.ts";

export interface ResolvedGroup {
  readonly name: string;
  readonly values: GroupValues;
  readonly params: readonly string[];
}

function noMatch(what: string, filter: NameFilter, names: readonly string[]): OptionError {
  const patterns = typeof filter === "function" ? [] : typeof filter === "string" ? [filter] : filter;
  // A pattern is often one part of a dotted name ("weight"), so parts are candidates as well.
  const candidates = new Set(names.flatMap((name) => [name, ...name.split(".")]));
  const hint = patterns.map((pattern) => didYouMean(pattern, candidates)).find((text) => text !== "") ?? "";
  const shown = typeof filter === "function" ? "its function" : patterns.map((pattern) => `\`${pattern}\``).join(", ");
  const some = names.length === 0 ? "none" : names.slice(0, 6).join(", ") + (names.length > 6 ? ", …" : "");
  return new OptionError(`${what}: no parameter matches ${shown}.${hint} Parameters: ${some}.`);
}

/**
 * The groups of `optimizer` over the model's parameters `names`. Each of its parameters is in exactly one group:
 * the first that matches, or `default`, which is left out when empty.
 */
export function resolveGroups(optimizer: Optimizer, names: readonly string[]): ResolvedGroup[] {
  const own = optimizer.params === undefined ? names : selectNames(optimizer.params, names);
  if (optimizer.params !== undefined && own.length === 0) {
    throw noMatch(`${optimizer.name}: \`params\``, optimizer.params, names);
  }
  const taken = new Set<string>();
  const groups: ResolvedGroup[] = optimizer.groups.map((group, i) => {
    const what = `${optimizer.name}: group \`${groupName(group, i)}\``;
    const matches = selectNames(group.params, own);
    if (matches.length === 0) throw noMatch(what, group.params, own);
    const params = matches.filter((name) => !taken.has(name));
    if (params.length === 0) {
      throw new OptionError(
        `${what}: all it matches (${matches.slice(0, 6).join(", ")}) belongs to groups before it. Put the narrower group first.`,
      );
    }
    for (const name of params) taken.add(name);
    const { lr, weightDecay, momentum } = group;
    const values = { ...optimizer.defaults };
    if (lr !== undefined) values.lr = lr;
    if (weightDecay !== undefined) values.weightDecay = weightDecay;
    if (momentum !== undefined) values.momentum = momentum;
    return { name: groupName(group, i), values, params };
  });
  const rest = own.filter((name) => !taken.has(name));
  if (rest.length > 0) groups.push({ name: "default", values: { ...optimizer.defaults }, params: rest });
  return groups;
}
