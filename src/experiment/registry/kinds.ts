// The kinds of components: what each is called, how one is recognised, and where the built-in ones are.
import { componentsIn, type Component } from "../../core/component.ts";
import type { Holds, Kind } from "../../core/options.ts";

export type LoadComponents = () => Promise<Readonly<Record<string, Component>>>;

export interface KindInfo {
  /** For messages: `a hook`. */
  readonly what: string;
  /** What one looks like, for whoever writes their own. */
  readonly looks: string;
  /** Is this one, ready made? A TypeScript config may hold it in place of `{ use }`. */
  readonly test: (value: unknown) => boolean;
  /**
   * The built-in ones, loaded when a config uses one. Absent for kinds of sweeps: those are in src/tune, which passes
   * its own loader to `prepareComponent`.
   */
  readonly load?: LoadComponents;
}

const has = (value: unknown, ...methods: readonly string[]): boolean =>
  typeof value === "object" &&
  value !== null &&
  methods.every((method) => typeof (value as Record<string, unknown>)[method] === "function");

const isFunction = (value: unknown): boolean => typeof value === "function";

/** A plain object without a single function is a config that lacks its `use`. */
const isHook = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  typeof (value as { name?: unknown }).name === "string" &&
  (Object.getPrototypeOf(value) !== Object.prototype || Object.values(value).some(isFunction));

export const KINDS: Readonly<Record<Kind, KindInfo>> = {
  data: {
    what: "a source of data",
    looks: "a function that returns the data, such as { x, y }",
    test: isFunction,
    load: async () => componentsIn(await import("../index.ts"), "data"),
  },
  split: {
    what: "a split",
    looks: "a function (data, seed) that returns { main: { train, val, test } }",
    test: isFunction,
    load: async () => componentsIn(await import("../index.ts"), "split"),
  },
  model: {
    what: "a model",
    looks: "an object with `init` and `apply`, or with `params` and `loss`",
    test: (value) => has(value, "init", "apply") || has(value, "loss"),
    load: async () => componentsIn(await import("../../nn/index.ts"), "model"),
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
    test: (value) => has(value, "update", "compute"),
    load: async () => componentsIn(await import("../../nn/index.ts"), "metric"),
  },
  optimizer: {
    what: "an optimizer",
    looks: "what adamw() and its like return",
    test: (value) => has(value, "hyper", "leaf"),
    load: async () => componentsIn(await import("../../optim/index.ts"), "optimizer"),
  },
  schedule: {
    what: "a schedule",
    looks: "an object with a `name`, an `interval` and `factor`",
    test: (value) => has(value, "factor"),
    load: async () => componentsIn(await import("../../optim/index.ts"), "schedule"),
  },
  hook: {
    what: "a hook",
    looks: "an object with a `name` and methods such as `onStepEnd`",
    test: isHook,
    load: async () => componentsIn(await import("../../index.ts"), "hook"),
  },
  logger: {
    what: "a backend of the logger",
    looks: "an object with `open`, `log` and `close`",
    test: (value) => has(value, "log"),
    load: async () => componentsIn(await import("../../loggers/index.ts"), "logger"),
  },
  sampler: {
    what: "a sampler",
    looks: "an object with a `name` and `suggest`",
    test: (value) => has(value, "suggest"),
  },
  scheduler: {
    what: "a scheduler",
    looks: "an object with a `name` and `decide`",
    test: (value) => has(value, "decide"),
  },
  runner: {
    what: "a runner",
    looks: "an object with `open`, `run` and `close`",
    test: (value) => has(value, "open", "run", "close"),
  },
};

/** What an option that holds components expects, for messages and docs. */
export function expectedOf(holds: Holds): string {
  if (holds.form === "each") return `a list of objects with ${Object.keys(holds.options).join(", ")}`;
  const { what } = KINDS[holds.kind];
  const phrases = {
    one: what,
    oneOrList: `${what}, or a list of them`,
    listOrNamed: `a list, or several by name, each ${what}`,
    named: `several by name, each ${what}`,
    oneOrNamed: `${what}, or several by name`,
  };
  return phrases[holds.form];
}
