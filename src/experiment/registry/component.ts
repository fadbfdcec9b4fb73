// Components that do not describe themselves yet; see core/component.ts.
import type { Component, Takes } from "../../core/component.ts";
import { is, optionTable, type Check, type Holds, type Kind } from "../../core/options.ts";

export { each, listOrNamed, named, one, oneOrList } from "../../core/options.ts";

interface Listed {
  readonly make: (...args: never[]) => unknown;
  readonly args?: readonly string[];
  readonly spread?: boolean;
  readonly parts?: Readonly<Record<string, Holds>>;
  readonly files?: Readonly<Record<string, "read" | "write">>;
  readonly given?: readonly string[];
  readonly checkAround?: (options: never) => unknown;
}

export type Components = Readonly<Record<string, Listed>>;

export const described = (kind: Kind, components: Components): Record<string, Component> =>
  Object.fromEntries(
    Object.entries(components).map(([name, listed]) => [
      name,
      { kind, name, make: listed.make, takes: () => takesOf(listed), checkEnvironment: listed.checkAround },
    ]),
  );

function takesOf({ make, args = [], spread = false, parts = {}, files = {}, given: supplied = [] }: Listed): Takes {
  // One that takes any number of arguments has no options behind them.
  const table = spread ? { checks: {}, required: [], positional: [] } : optionTable(make, args.length);
  const full = ([name, check]: readonly [string, Check]): [string, Check] => [
    name,
    { ...check, ...(parts[name] && { holds: parts[name] }), ...(files[name] && { path: files[name] }) },
  ];
  const options = Object.entries(table.checks).map(full);
  return {
    args: Object.fromEntries(args.map((name, i) => full([name, table.positional[i] ?? is.anything]))),
    spread,
    ...(options.length > 0 && { options: Object.fromEntries(options) }),
    required: table.required,
    supplied,
  };
}
