// Which of several loaders gives the next batch, and when the epoch ends. Pure bookkeeping: it never touches the data.
import { OptionError } from "../core/errors.ts";
import { type Check, checkOptions, is, show } from "../core/options.ts";
import { didYouMean } from "../core/names.ts";
import { Rng } from "./random.ts";

/** In which order several loaders give their batches. */
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
   * When the epoch ends. "sum" (default): when every loader has been through once; those at their end drop out, so that
   * in turn the last batches are all of the largest, and a model may forget the others by them.
   * "max": when every loader has been through at least once; those at their end start again. "min": when the one whose
   * turn it is has no more. A number: after that many batches; loaders at their end start again.
   */
  readonly length?: "sum" | "max" | "min" | number;
  /** For "weighted"; used instead of the trainer's. */
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

/** What the order needs to know of a loader. */
export interface Lane {
  /** Whether the current pass has another batch. */
  readonly more: boolean;
  /** Passes finished before the current one. */
  readonly passes: number;
}

/** Where the order stands. */
export interface MixState {
  /** Batches of this epoch so far. */
  readonly batches: number;
  /** Draws so far; batches drawn from a given loader, for the step that it began, are part of its draw. */
  readonly draws: number;
  /** The loader of the last draw, and how many draws in a row it had. */
  readonly turn: number;
  readonly row: number;
}

export const mixStart: MixState = { batches: 0, draws: 0, turn: 0, row: 0 };

function byWeight(usable: readonly boolean[], weights: readonly number[], rng: Rng): number {
  const total = weights.reduce((sum, weight, i) => sum + (usable[i] ? weight : 0), 0);
  let left = rng.next() * total;
  let last = -1;
  for (const [i, weight] of weights.entries()) {
    if (!usable[i]) continue;
    last = i;
    left -= weight;
    if (left < 0) break;
  }
  return last;
}

/** The loader of the next batch, or undefined at the end. `from` asks for one more from that loader. */
export function choose(
  mix: Mix,
  state: MixState,
  lanes: readonly Lane[],
  key: { readonly epoch: number; readonly seed: number },
  from?: number,
): number | undefined {
  const { length, strategy, shares } = mix;
  if (typeof length === "number" && state.batches >= length) return undefined;
  if (length === "max" && lanes.every((lane) => lane.passes > 0 || !lane.more)) return undefined;
  if (length === "sum" && !lanes.some((lane) => lane.more)) return undefined;
  const restarts = length === "max" || typeof length === "number";
  if (from !== undefined) return restarts || lanes[from]!.more ? from : undefined;
  // Under "min" a loader at its end still gets its turn: that is what ends the epoch.
  const usable = lanes.map((lane) => restarts || length === "min" || lane.more);
  const { turn, row } = state;
  let next = turn;
  if (strategy === "weighted") next = byWeight(usable, shares, new Rng(mix.seed ?? key.seed, key.epoch, state.draws));
  else if (row >= shares[turn]! || !(strategy === "sequential" ? lanes[turn]!.more : usable[turn])) {
    do next = (next + 1) % lanes.length;
    while (!usable[next]);
  }
  return length === "min" && !lanes[next]!.more ? undefined : next;
}

/** The state after a batch from loader `index`; `held` when it was asked for by name. */
export function advance(state: MixState, index: number, held: boolean, shares: readonly number[]): MixState {
  const batches = state.batches + 1;
  if (held) return { ...state, batches };
  const again = index === state.turn && state.row < shares[index]!;
  return { batches, draws: state.draws + 1, turn: index, row: again ? state.row + 1 : 1 };
}
