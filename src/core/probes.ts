// Probes: what a hook may ask of the points inside a model, and what it sees of them.
import type { HostArray } from "./arrays.ts";
import type { GradStats } from "./grads.ts";
import type { Tensor } from "./model.ts";
import type { NameFilter } from "./names.ts";
import { checkOptions, is, type Check } from "./options.ts";

/** What flows on instead of `x`: a pure jax-js function, with the same shape and type. */
export type ReplaceFn = (x: Tensor, name: string) => Tensor;

/** Which activations a hook wants to see or change. */
export interface ProbeRequest {
  /** Which points: a name, a glob, a part of a name, several of these, or a predicate. */
  readonly match: NameFilter;
  /** `"stats"` (default): numbers, computed in the program. `"arrays"`: the activations themselves. */
  readonly collect?: "stats" | "arrays";
  /** Percentiles among the statistics, each from 0 to 100. */
  readonly percentiles?: readonly number[];
  /** Bins of a histogram among the statistics. */
  readonly histogram?: number;
  /** Changes the points in evaluation and predict; never in training. */
  readonly replace?: ReplaceFn;
}

/** Statistics of one activation. */
export interface ActivationStats extends GradStats {
  /** Share of units that are 0 for the whole batch. Units are the last dimension; in [batch, channels, height, width] the channels. */
  readonly dead: number;
}

/** Activations of the last micro-batch, on the host: the points that the hook asked for, in the order of the program. */
export interface Activations {
  /** Empty when none were collected, as in a step that was skipped. */
  readonly names: readonly string[];
  /** For requests that collect statistics. */
  stats(name: string): ActivationStats;
  /** For requests that collect arrays. */
  get(name: string): HostArray;
}

/** A request and the hook that made it. */
export interface Probe {
  readonly hook: string;
  readonly request: ProbeRequest;
}

const PROBE_CHECKS = {
  match: is.or(is.name, is.function, is.arrayOf(is.name)),
  collect: is.oneOf("stats", "arrays"),
  percentiles: is.arrayOf(is.between(0, 100)),
  histogram: is.wholeFrom(1),
  replace: is.function,
} satisfies Record<keyof ProbeRequest, Check>;

/** Checks a request; `more` are options that a caller has besides. */
export function checkProbe(owner: string, request: unknown, more: Readonly<Record<string, Check>> = {}): void {
  checkOptions(owner, request, { ...PROBE_CHECKS, ...more }, ["match"]);
}

/** Events of training that show activations. */
export const TRAIN_PROBE_EVENTS = ["afterForward", "beforeBackward", "afterBackward", "batchEnd", "stepEnd"] as const;

/** How a filter looks in a message or in the audit. */
export const showFilter = (filter: NameFilter): string =>
  typeof filter === "function" ? filter.name || "a predicate" : JSON.stringify(filter);
