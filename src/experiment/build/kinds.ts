// The kinds of components that a config can name: what each is called, how one is recognised, and which module exports the
// built-in ones. A sweep adds kinds of its own.
import { componentsIn, type Component } from "../../core/component.ts";
import type { Check, Holds, Kind } from "../../core/options.ts";

export interface KindInfo {
  /** For messages: `a hook`. */
  readonly what: string;
  /** What one looks like, for users who write their own. */
  readonly looks: string;
  /** Whether a value is an instance. A TypeScript config may hold one in place of `{ use }`. */
  readonly test: (value: unknown) => boolean;
  /** The built-in ones. Loaded when a config uses the kind: a run waits for nothing else before its first step. */
  readonly load: () => Promise<Readonly<Record<string, Component>>>;
}

/** The kinds that one sort of file can name. */
export type Kinds = Readonly<Partial<Record<Kind, KindInfo>>>;

/** Whether a value is an object with these methods. */
export const hasMethods = (value: unknown, ...methods: readonly string[]): boolean =>
  typeof value === "object" &&
  value !== null &&
  methods.every((method) => typeof (value as Record<string, unknown>)[method] === "function");

const isFunction = (value: unknown): boolean => typeof value === "function";

/** Those of a kind that several modules have. */
async function components(
  kind: Kind,
  ...modules: readonly Promise<object>[]
): Promise<Readonly<Record<string, Component>>> {
  return Object.assign({}, ...(await Promise.all(modules)).map((module) => componentsIn(module, kind)));
}

/** A plain object without a single function is a config that lacks its `use`. */
const isHook = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  typeof (value as { name?: unknown }).name === "string" &&
  (Object.getPrototypeOf(value) !== Object.prototype || Object.values(value).some(isFunction));

/** What the config of an experiment can name. */
export const CONFIG_KINDS = {
  data: {
    what: "a source of data",
    looks: "a function that returns the data, such as { x, y }",
    test: isFunction,
    load: () => components("data", import("../index.ts"), import("../../lm/config-components.ts")),
  },
  split: {
    what: "a split",
    looks: "a function (data, seed) that returns { main: { train, val, test } }",
    test: isFunction,
    load: async () => componentsIn(await import("../index.ts"), "split"),
  },
  transform: {
    what: "a transform",
    looks: "one that standardise() and its like made",
    test: (value) => hasMethods(value, "fit", "open"),
    load: async () => componentsIn(await import("../../data/index.ts"), "transform"),
  },
  model: {
    what: "a model",
    looks: "an object with `init` and `apply`, or with `params` and `loss`",
    test: (value) => hasMethods(value, "init", "apply") || hasMethods(value, "loss"),
    load: () => components("model", import("../../nn/index.ts"), import("../../lm/config-components.ts")),
  },
  loss: {
    what: "a loss",
    looks: "a function (outputs, targets) that returns a scalar",
    test: isFunction,
    load: async () => componentsIn(await import("../../nn/index.ts"), "loss"),
  },
  metric: {
    what: "a metric",
    looks: "an object with `update` and `compute`",
    test: (value) => hasMethods(value, "update", "compute"),
    load: async () => componentsIn(await import("../../nn/index.ts"), "metric"),
  },
  optimizer: {
    what: "an optimizer",
    looks: "what adamw() and its like return",
    test: (value) => hasMethods(value, "hyper", "leaf"),
    load: async () => componentsIn(await import("../../optim/index.ts"), "optimizer"),
  },
  schedule: {
    what: "a schedule",
    looks: "an object with a `name`, an `interval` and `factor`",
    test: (value) => hasMethods(value, "factor"),
    load: async () => componentsIn(await import("../../optim/index.ts"), "schedule"),
  },
  hook: {
    what: "a hook",
    looks: "an object with a `name` and methods such as `onStepEnd`",
    test: isHook,
    load: () => components("hook", import("../../hooks/index.ts"), import("../../lm/config-components.ts")),
  },
  logger: {
    what: "a backend of the logger",
    looks: "an object with `open`, `log` and `close`",
    test: (value) => hasMethods(value, "log"),
    load: async () => componentsIn(await import("../../loggers/index.ts"), "logger"),
  },
} satisfies Kinds;

export function kindInfo(kinds: Kinds, kind: Kind): KindInfo {
  const info = kinds[kind];
  if (!info) throw new Error(`This kind of file has no components of the kind ${kind}.`);
  return info;
}

/** What an option that holds components expects, for messages and docs. */
export function expectedOf(kinds: Kinds, holds: Holds): string {
  if (holds.form === "each") return `a list of objects with ${Object.keys(holds.options).join(", ")}`;
  const { what } = kindInfo(kinds, holds.kind);
  const phrases = {
    one: what,
    oneOrList: `${what}, or a list of them`,
    listOrNamed: `a list, or several by name, each ${what}`,
    named: `several by name, each ${what}`,
    oneOrNamed: `${what}, or several by name`,
    oneOrNamedLists: `${what}, or several by name, each ${what} or a list of them`,
  };
  return phrases[holds.form];
}

interface ComponentRules {
  readonly checks: Readonly<Record<string, Check>>;
  readonly required: readonly string[];
}

/** All that a config may give a component, arguments and options alike. */
export function rulesOf(kinds: Kinds, { takes }: Component): ComponentRules {
  const { args = {}, options = {}, required = [], supplied = [] } = takes?.() ?? {};
  const isGiven = (name: string): boolean => !supplied.includes(name);
  return {
    checks: Object.fromEntries(
      Object.entries({ ...args, ...options })
        .filter(([name]) => isGiven(name))
        .map(([name, check]) => [name, check.holds ? { ...check, expected: expectedOf(kinds, check.holds) } : check]),
    ),
    required: [...Object.keys(args), ...required].filter(isGiven),
  };
}
