// What a config knows of a built-in: how it is made, and which of its options are made of others.

/** What a config can name with `use`; the last three are of sweeps. */
export type Kind =
  | "data"
  | "split"
  | "model"
  | "loss"
  | "metric"
  | "optimizer"
  | "schedule"
  | "hook"
  | "logger"
  | "sampler"
  | "scheduler"
  | "runner";

/**
 * An option that holds components: one, one or several, a list or a map by name, or one or several by name; or a list of
 * plain objects with components in them.
 */
export type Part =
  | { readonly form: "one" | "oneOrList" | "listOrNamed" | "named" | "oneOrNamed"; readonly kind: Kind }
  | { readonly form: "each"; readonly parts: Parts };

export type Parts = Readonly<Record<string, Part>>;

/** Files that options name: `read` ones lie in the project, `write` ones may be anywhere that is said outright. */
export type Files = Readonly<Record<string, "read" | "write">>;

export interface Component {
  /** What its options may be, it says itself: see `optionTable`. */
  readonly make: (...args: never[]) => unknown;
  /** Names, in a config, of the arguments before the options. */
  readonly args?: readonly string[];
  /** The last of `args` is all the rest of the arguments. */
  readonly spread?: boolean;
  readonly parts?: Parts;
  readonly files?: Files;
  /** Arguments and options that whoever builds it gives, and that no config says: a sampler's space. */
  readonly given?: readonly string[];
  /** Throws when a run would not find what it needs around it, keys or a package. Told the options of the config. */
  readonly checkAround?: (options: never) => unknown;
}

export type Components = Readonly<Record<string, Component>>;

export const one = (kind: Kind): Part => ({ form: "one", kind });
export const oneOrList = (kind: Kind): Part => ({ form: "oneOrList", kind });
export const listOrNamed = (kind: Kind): Part => ({ form: "listOrNamed", kind });
export const named = (kind: Kind): Part => ({ form: "named", kind });
export const oneOrNamed = (kind: Kind): Part => ({ form: "oneOrNamed", kind });
export const each = (parts: Parts): Part => ({ form: "each", parts });
