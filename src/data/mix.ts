// The options of a phase's data: one loader or several by name, and how several are mixed.
import { isHostArray, isTypedArray } from "../core/arrays.ts";
import { OptionError } from "../core/errors.ts";
import type { Loader } from "../core/model.ts";
import { type Check, checkOptions, is, show } from "../core/options.ts";
import { didYouMean } from "../core/names.ts";

/** The order in which several loaders give their batches. */
export type MixStrategy = "sequential" | "roundRobin" | "weighted" | "alternating";

/** How several loaders are mixed. */
export interface MixOptions {
  /**
   * The order of the loaders: one after the other, in turn (default), at random by `weights`, or in turn with `bursts`.
   */
  readonly strategy?: MixStrategy;
  /** With "weighted": how often each loader is drawn, by name. */
  readonly weights?: Readonly<Record<string, number>>;
  /** With "alternating": how many draws in a row each loader gets, by name. */
  readonly bursts?: Readonly<Record<string, number>>;
  /**
   * When the epoch ends. "sum" (default): when every loader has given all its batches; those at their end drop out, so
   * the last batches may all come from the largest loader, and a model may forget the others. "max": when every loader
   * has given all its batches at least once; those at their end start again. "min": when the loader whose turn it is has
   * no more. A number: after that many batches; loaders at their end start again.
   */
  readonly length?: "sum" | "max" | "min" | number;
  /** For "weighted"; replaces the trainer's seed. */
  readonly seed?: number;
}

export interface Mix {
  readonly strategy: MixStrategy;
  readonly shares: readonly number[];
  readonly length: "sum" | "max" | "min" | number;
  readonly seed: number | undefined;
}

function readShares(
  key: "weights" | "bursts",
  given: Readonly<Record<string, number>> | undefined,
  names: readonly string[],
  each: Check,
): number[] {
  if (given === undefined)
    throw new OptionError(`mix: missing option \`${key}\`, one per loader: ${names.join(", ")}.`);
  for (const name of Object.keys(given)) {
    if (names.includes(name)) continue;
    throw new OptionError(
      `mix: \`${key}\` names \`${name}\`, which is no loader.${didYouMean(name, names)} Loaders: ${names.join(", ")}.`,
    );
  }
  return names.map((name) => {
    const share = given[name];
    if (each.test(share)) return share!;
    throw new OptionError(`mix: Expected \`${key}.${name}\` to be ${each.expected}, got ${show(share)}`);
  });
}

/** Checks the options against the loaders' names and fills in the defaults. */
export function readMix(names: readonly string[], options: MixOptions = {}): Mix {
  checkOptions("mix", options, {
    strategy: is.oneOf("sequential", "roundRobin", "weighted", "alternating"),
    weights: is.object,
    bursts: is.object,
    length: is.or(is.oneOf("sum", "max", "min"), is.wholeFrom(1)),
    seed: is.wholeFrom(0),
  });
  const { strategy = "roundRobin", length = "sum", seed } = options;
  for (const [key, owner] of [
    ["weights", "weighted"],
    ["bursts", "alternating"],
  ] as const) {
    if (options[key] !== undefined && strategy !== owner) {
      throw new OptionError(`mix: \`${key}\` goes with \`strategy: "${owner}"\`, but the strategy is "${strategy}".`);
    }
  }
  if (strategy === "sequential" && (length === "max" || length === "min")) {
    throw new OptionError(
      `mix: \`length: "${length}"\` has no meaning when loaders come one after the other. Use "sum" or a number.`,
    );
  }
  if (strategy === "weighted") {
    return { strategy, length, seed, shares: readShares("weights", options.weights, names, is.positive) };
  }
  if (strategy === "alternating") {
    return { strategy, length, seed, shares: readShares("bursts", options.bursts, names, is.wholeFrom(1)) };
  }
  return { strategy, length, seed, shares: names.map(() => (strategy === "sequential" ? Infinity : 1)) };
}

export function isLoader(value: unknown): value is Loader {
  const { begin, next } = (value ?? {}) as Partial<Loader>;
  return typeof begin === "function" && typeof next === "function";
}

/** The loaders of a phase by name; a single one is called "train". */
export function readLoaders(train: Loader | Readonly<Record<string, Loader>>): Record<string, Loader> {
  if (isLoader(train)) return { train };
  if (typeof train !== "object" || train === null || Object.keys(train).length === 0) {
    throw new OptionError(`Expected a loader or loaders by name, such as { a: new DataLoader(…) }, got ${show(train)}`);
  }
  for (const [name, loader] of Object.entries(train)) {
    if (isLoader(loader)) continue;
    const arrays = isTypedArray(loader) || isHostArray(loader);
    throw new OptionError(
      arrays
        ? `Expected a loader, got arrays (${Object.keys(train).join(", ")}). Cut them into batches: new DataLoader({ ${Object.keys(train).join(", ")} }, { batchSize: 32 })`
        : `Expected loader \`${name}\` to be a loader such as new DataLoader(…), got ${show(loader)}`,
    );
  }
  return train;
}
