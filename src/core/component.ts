// A built-in describes itself where it is defined: its kind, its name and what it takes. Config files, their JSON Schema,
// docs/components.md and `hookline hooks` are collected from these descriptions, so there is no list to maintain.
//
// To add a built-in, write it like this and export it from the index of its folder:
//
//   /** Half the squared error near the target, and linear beyond `delta`. */
//   export const huber = /* @__PURE__ */ component(
//     { kind: "loss", name: "huber", takes: () => ({ options: { delta: is.positive } }) },
//     (options: HuberOptions = {}): Loss => { … },
//   );
//
// Users call `huber({ delta: 2 })`: `component` returns the factory itself, with the same type, preceded by the checks of
// its arguments and options. A long factory is better written as a function `makeHuber` below the description. `kind` and
// `name` come first, since the docs generator searches for them. The call is marked pure and `takes` is a function so
// that bundlers can drop what a program does not use.
import { OptionError } from "./errors.ts";
import { checkOptions, show, type Check, type Kind } from "./options.ts";

type Checks = Readonly<Record<string, Check>>;

/** What a factory takes, by the names that a config uses. */
interface Takes {
  /** The arguments before the options, in order. */
  readonly args?: Checks;
  /** The factory takes any number of arguments, and a config gives them as the list `args` names. */
  readonly spread?: boolean;
  /** Absent: the factory has no options. */
  readonly options?: Checks;
  /** Options that must be given. Arguments always must. */
  readonly required?: readonly string[];
  /** Arguments and options that no config gives, since the builder supplies them: a sampler's space. */
  readonly supplied?: readonly string[];
}

export interface Description {
  readonly kind: Kind;
  /** What a config calls it: `use: huber`. */
  readonly name: string;
  /** Called when it is first needed. Absent: it takes nothing. */
  readonly takes?: () => Takes;
  /** Throws when the environment lacks what a run needs: a key, a package. It gets the options of the config. */
  readonly checkEnvironment?: (options: never) => unknown;
}

type Factory = (...args: never[]) => unknown;

export interface Component extends Description {
  readonly make: Factory;
}

const components = new WeakMap<object, Component>();

/** A built-in from its description and its factory; see the head of this file. */
export function component<F extends Factory>(description: Description, make: F): F {
  const { name, takes } = description;
  const checked = (...given: readonly unknown[]): unknown => {
    if (takes) checkArguments(name, takes(), given);
    return make(...(given as never[]));
  };
  const factory = Object.defineProperty(checked, "name", { value: name }) as unknown as F;
  components.set(factory, { ...description, make: factory });
  return factory;
}

function checkArguments(
  name: string,
  { args = {}, spread = false, options, required }: Takes,
  given: readonly unknown[],
): void {
  if (spread) return;
  const checks = Object.entries(args);
  for (const [i, [arg, check]] of checks.entries()) {
    if (check.test(given[i])) continue;
    throw new OptionError(`${name}: Expected \`${arg}\` to be ${check.expected}, got ${show(given[i])}`, {
      option: arg,
    });
  }
  if (options) checkOptions(name, given[checks.length] ?? {}, options, required);
}

/** The components of a kind among the exports of a module, by name and in alphabetical order. */
export function componentsIn(exports: object, kind: Kind): Readonly<Record<string, Component>> {
  const found = Object.values(exports)
    .map((value: unknown) => (typeof value === "function" ? components.get(value) : undefined))
    .filter((each) => each?.kind === kind)
    .map((each) => [each!.name, each!] as const);
  return Object.fromEntries(found.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
