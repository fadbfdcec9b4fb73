// The kinds of components that a sweep can name: its own, and those of any config.
import { componentsIn } from "../../core/component.ts";
import { CONFIG_KINDS, hasMethods, type Kinds } from "../../experiment/build/kinds.ts";

/** Those that only a sweep can name. */
export const OWN_KINDS = {
  sampler: {
    what: "a sampler",
    looks: "an object with a `name` and `suggest`",
    test: (value) => hasMethods(value, "suggest"),
    load: async () => componentsIn(await import("../index.ts"), "sampler"),
  },
  scheduler: {
    what: "a scheduler",
    looks: "an object with a `name` and `decide`",
    test: (value) => hasMethods(value, "decide"),
    load: async () => componentsIn(await import("../index.ts"), "scheduler"),
  },
  runner: {
    what: "a runner",
    looks: "an object with `open`, `run` and `close`",
    test: (value) => hasMethods(value, "open", "run", "close"),
    load: async () => componentsIn(await import("../index.ts"), "runner"),
  },
} satisfies Kinds;

export const SWEEP_KINDS = { ...CONFIG_KINDS, ...OWN_KINDS };
