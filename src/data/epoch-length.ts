// The length of an epoch over several loaders, in batches and in steps, found by going through the order of the run.
import { advance, choose, type Lane, type LoaderSet, mixStart } from "./loader-set.ts";
import type { Mix } from "./mix.ts";

/** What the number of steps in an epoch depends on, besides its batches. */
export interface StepCount {
  /** Batches in a step. Default 1. */
  readonly accumulate?: number;
  /** Whether all batches of a step come from one loader; then a step may be short at the end of a loader. */
  readonly held?: boolean;
  /** Batches after which the epoch ends. */
  readonly limit?: number;
}

type Lengths = readonly (number | undefined)[];

const allKnown = (lengths: Lengths): lengths is readonly number[] => lengths.every((length) => length !== undefined);

function simulate(mix: Mix, lengths: readonly number[], { accumulate = 1, held = false, limit = Infinity }: StepCount) {
  const given = lengths.map(() => 0);
  const passes = lengths.map(() => 0);
  let state = mixStart;
  let steps = 0;
  const draw = (from?: number): number | undefined => {
    if (state.batches >= limit) return undefined;
    const lanes: Lane[] = lengths.map((length, i) => ({ more: given[i]! < length, passes: passes[i]! }));
    const index = choose(mix, state, lanes, { epoch: 0, seed: 0 }, from);
    if (index === undefined) return undefined;
    if (!lanes[index]!.more) {
      given[index] = 0;
      passes[index]!++;
    }
    given[index]!++;
    state = advance(state, index, from !== undefined, mix.shares);
    return index;
  };
  for (let index = draw(); index !== undefined; index = draw()) {
    steps++;
    for (let i = 1; i < accumulate && draw(held ? index : undefined) !== undefined; i++);
  }
  return { batches: state.batches, steps };
}

const lengthsOf = (set: LoaderSet): Lengths => set.loaders.map(({ loader }) => loader.length);

/** Batches in an epoch; undefined when it depends on streams or on chance. */
export function epochLength(set: LoaderSet): number | undefined {
  const { mix } = set;
  const lengths = lengthsOf(set);
  if (typeof mix.length === "number") return mix.length;
  if (!allKnown(lengths)) return undefined;
  if (mix.length === "sum") return lengths.reduce((sum, length) => sum + length, 0);
  return mix.strategy === "weighted" ? undefined : simulate(mix, lengths, {}).batches;
}

/** Optimizer steps in an epoch; undefined when it depends on streams or on chance. */
export function stepsPerEpoch(set: LoaderSet, count: StepCount = {}): number | undefined {
  const { mix } = set;
  const lengths = lengthsOf(set);
  const { accumulate = 1, held = false, limit = Infinity } = count;
  const length = epochLength(set);
  // Loaders that start again never leave a step short, so `held` makes no difference.
  if (!held || typeof mix.length === "number" || lengths.length === 1) {
    return length === undefined ? undefined : Math.ceil(Math.min(length, limit) / accumulate);
  }
  if (!allKnown(lengths)) return undefined;
  if (mix.length === "sum" && limit >= length!) {
    return lengths.reduce((sum, each) => sum + Math.ceil(each / accumulate), 0);
  }
  return mix.strategy === "weighted" ? undefined : simulate(mix, lengths, count).steps;
}
