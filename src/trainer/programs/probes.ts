// Probes inside a program: which points are collected, what is computed of them, what replaces them.
import { numpy as np } from "@jax-js/jax";
import { OptionError, ProgramError } from "../../core/errors.ts";
import type { Tensor, Tensors } from "../../core/model.ts";
import { type NameFilter, didYouMean, selectNames } from "../../core/names.ts";
import { showFilter, type ActivationStats, type Probe, type ProbeRequest } from "../../core/inspection.ts";
import { visitPoints } from "../../nn/tap.ts";
import { readStats, statsOf, type StatsRequest } from "./stats.ts";

/** What a program returns of its points: by group, and in it by key. */
export type ProbeGroups = Record<string, Tensors>;

const ARRAYS = "arrays";

/** Requests that want the same of a point share a group. */
export const groupOf = (request: ProbeRequest): string =>
  request.collect === "arrays" ? ARRAYS : JSON.stringify(statsRequest(request));

export const statsRequest = ({ percentiles = [], histogram = 0 }: ProbeRequest): StatsRequest => ({
  percentiles,
  bins: histogram,
});

// Children of a sequential are named `0`, `1`, …, and an object would put such keys before all others.
export const keyOfPoint = (name: string): string => `:${name}`;
export const pointOfKey = (key: string): string => key.slice(1);

/** Names a point; one that is passed again, by a layer that is called twice, gets a number. */
function uniqueNames(): (name: string) => string {
  const times = new Map<string, number>();
  return (name) => {
    const n = (times.get(name) ?? 0) + 1;
    times.set(name, n);
    return n === 1 ? name : `${name}#${n}`;
  };
}

/** The points of what `run` computes, in order. Inside a traced program nothing of it remains. */
export function pointNames(run: () => unknown): string[] {
  const names: string[] = [];
  const unique = uniqueNames();
  visitPoints((name, x) => {
    names.push(unique(name));
    return x;
  }, run);
  return names;
}

/** The points that a request means. */
export function matchPoints(owner: string, match: NameFilter, points: readonly string[]): string[] {
  const names = selectNames(match, points);
  if (names.length > 0) return names;
  const hint = typeof match === "string" ? didYouMean(match, points) : "";
  const known =
    points.length === 0
      ? `It has none: children of sequential() and block() are points, and tap("name", x) marks one anywhere.`
      : `Points: ${points.join(", ")}.`;
  throw new OptionError(`${owner}: \`match\` (${showFilter(match)}) is no point of the model.${hint} ${known}`);
}

const owner = (hook: string): string => (hook === "" ? "runWithProbes" : `Hook \`${hook}\`: probes`);

interface ProbeSpec {
  readonly probes: readonly Probe[];
  readonly replacements: readonly Probe[];
}

/** Collects the points of one forward pass. One for each trace. */
export class PointCollector {
  readonly #spec: ProbeSpec;
  /** Names of each group, with a request that says what is wanted there. */
  readonly #groups = new Map<string, { readonly request: ProbeRequest; readonly names: Set<string> }>();

  constructor(spec: ProbeSpec) {
    this.#spec = spec;
  }

  /** Runs a forward pass, and again when names must be known beforehand. The points that someone wants come back raw. */
  forward<T extends object>(run: () => T): T & { readonly points: Tensors } {
    const { probes, replacements } = this.#spec;
    // With nobody asking, the program is that of the model alone.
    if (probes.length === 0 && replacements.length === 0) return { ...run(), points: {} };
    const replace = this.#replacer(replacements.length === 0 ? [] : pointNames(run));
    const unique = uniqueNames();
    const seen = new Map<string, Tensor>();
    const visit = (path: string, x: Tensor): Tensor => {
      const name = unique(path);
      const next = replace(name, x);
      seen.set(name, next.ref);
      return next;
    };
    const result = visitPoints(visit, run);
    const wanted = this.#select([...seen.keys()]);
    const points: Tensors = {};
    for (const [name, x] of seen) {
      if (wanted.has(name)) points[keyOfPoint(name)] = x;
      else x.dispose();
    }
    return { ...result, points };
  }

  /** What the requests make of the points. Apart from `forward`, since no derivative of it is wanted. */
  groups(points: Tensors): ProbeGroups {
    const groups: ProbeGroups = {};
    for (const [group, { request, names }] of this.#groups) {
      const keys = Object.keys(points).filter((key) => names.has(pointOfKey(key)));
      const value = (x: Tensor): Tensor => (group === ARRAYS ? x.ref : activationStats(x, statsRequest(request)));
      groups[group] = Object.fromEntries(keys.map((key) => [key, value(points[key]!)]));
    }
    for (const x of Object.values(points)) x.dispose();
    return groups;
  }

  #select(names: readonly string[]): ReadonlySet<string> {
    const all = new Set<string>();
    for (const { hook, request } of this.#spec.probes) {
      const group = groupOf(request);
      if (!this.#groups.has(group)) this.#groups.set(group, { request, names: new Set() });
      for (const name of matchPoints(owner(hook), request.match, names)) {
        all.add(name);
        this.#groups.get(group)!.names.add(name);
      }
    }
    return all;
  }

  #replacer(points: readonly string[]): (name: string, x: Tensor) => Tensor {
    const steps = this.#spec.replacements.map(({ hook, request: { match, replace } }) => {
      const names = new Set(matchPoints(owner(hook), match, points));
      return (name: string, x: Tensor): Tensor => (names.has(name) ? checked(hook, name, x, replace!(x, name)) : x);
    });
    return (name, x) => steps.reduce((value, step) => step(name, value), x);
  }
}

function checked(hook: string, name: string, { shape, dtype }: Tensor, next: Tensor): Tensor {
  if (next?.shape?.join() === shape.join() && next.dtype === dtype) return next;
  const got = next?.shape ? `${next.dtype} [${next.shape.join(", ")}]` : String(next);
  throw new ProgramError(
    `${owner(hook)}: \`replace\` must return an array like the one at \`${name}\`, ${dtype} [${shape.join(", ")}]; got ${got}.`,
  );
}

/** The statistics of one tensor and its share of dead units, in one vector. Takes `x` by reference. */
function activationStats(x: Tensor, request: StatsRequest): Tensor {
  const values = x.ref.astype(np.float32);
  const unit = x.ndim === 4 ? 1 : x.ndim - 1;
  const others = x.shape.map((_, axis) => axis).filter((axis) => axis !== unit || x.ndim < 2);
  const alive = values.ref.notEqual(0).astype(np.float32).max(others).mean();
  return np.concatenate([statsOf(values, request), np.array(1).sub(alive).reshape([1])]);
}

export function readActivationStats(values: ArrayLike<number>, request: StatsRequest): ActivationStats {
  const all = Array.from(values);
  return { ...readStats(all.slice(0, -1), request), dead: all.at(-1)! };
}
