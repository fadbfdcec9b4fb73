// grid: every combination once, in the order of nested loops: the last parameter changes fastest.
import { component } from "../../core/component.ts";
import { OptionError } from "../../core/errors.ts";
import { checkOptions, is } from "../../core/options.ts";
import { didYouMean } from "../../core/names.ts";
import type { Node, NumberEntry } from "../space/compile.ts";
import type { SpaceTree } from "../space/parameters.ts";
import { Space } from "../space/space.ts";
import type { Sampler } from "../types.ts";

/** Options of `grid`. */
export interface GridOptions {
  /**
   * How many values of each continuous parameter, evenly spaced on its scale and including both ends; or by path, also for
   * whole numbers, of which all are tried by default.
   */
  readonly points?: number | Readonly<Record<string, number>>;
}

/** @example grid({ lr: logUniform(1e-4, 1e-1), layers: int(1, 3) }, { points: 4 }) // 12 trials */
export const grid = /* @__PURE__ */ component(
  {
    kind: "sampler",
    name: "grid",
    takes: () => ({
      args: { space: is.anything },
      options: { points: is.or(is.wholeFrom(1), is.object) },
      supplied: ["space"],
    }),
  },
  (space: Space | SpaceTree, options: GridOptions = {}): Sampler => {
    const whole = Space.of(space);
    const axes = axesOf(whole, options.points);
    const size = sizeOf(whole.root, axes);
    if (!Number.isSafeInteger(size)) {
      throw new OptionError(`grid: the space has ${size.toPrecision(3)} points, which is too many. Use fewer.`, {
        option: "points",
      });
    }
    return {
      name: "grid",
      size,
      suggest(number) {
        if (number >= size) {
          throw new OptionError(`grid: there are ${size} points, and no trial ${number}: they count from 0.`);
        }
        const chosen = new Map<number, number>();
        choose(whole.root, number, axes, chosen);
        return whole.build(({ index }) => chosen.get(index)!);
      },
    };
  },
);

/** The values of a number. They are computed when needed, since there may be very many. */
interface Axis {
  readonly count: number;
  at(place: number): number;
}

/** By the parameter's index; undefined for a choice. */
type Axes = readonly (Axis | undefined)[];

function axesOf(space: Space, points: GridOptions["points"]): Axes {
  const byPath = typeof points === "object" ? points : {};
  const numbers = space.parameters.filter((parameter) => parameter.kind !== "choice");
  const paths = [...new Set(numbers.map(({ path }) => path))];
  for (const [path, count] of Object.entries(byPath)) {
    if (!paths.includes(path)) {
      const why = space.parameters.some((p) => p.path === path)
        ? "is a choice: all its options are tried"
        : "is not a number in the space";
      throw new OptionError(`grid: \`points\` names \`${path}\`, which ${why}.${didYouMean(path, paths)}`, {
        option: "points",
      });
    }
    checkOptions("grid: points", { [path]: count }, { [path]: is.wholeFrom(1) });
  }
  return space.parameters.map((parameter) => {
    if (parameter.kind === "choice") return undefined;
    const asked = Object.hasOwn(byPath, parameter.path) ? byPath[parameter.path] : undefined;
    return parameter.domain.step === undefined
      ? continuousAxis(parameter, asked ?? (typeof points === "number" ? points : undefined))
      : wholeAxis(parameter, asked);
  });
}

function continuousAxis({ path, domain }: NumberEntry, count: number | undefined): Axis {
  if (count === undefined) {
    throw new OptionError(
      `grid: \`${path}\` is continuous, so a grid needs to know how many values to try: points: 5, or points: { "${path}": 5 }.`,
      { option: "points" },
    );
  }
  return { count, at: (place) => domain.fromUnit(count === 1 ? 0.5 : place / (count - 1)) };
}

function wholeAxis({ domain }: NumberEntry, count = domain.size): Axis {
  if (count >= domain.size) return { count: domain.size, at: (place) => domain.low + place * domain.step! };
  const [first, last] = [domain.toUnit(domain.low), domain.toUnit(domain.high)];
  const spread = Array.from({ length: count }, (_, i) =>
    count === 1 ? 0.5 : first + ((last - first) * i) / (count - 1),
  );
  // On a logarithmic scale, several may round to the same small number.
  const values = [...new Set(spread.map((unit) => domain.fromUnit(unit)))];
  return { count: values.length, at: (place) => values[place]! };
}

function sizeOf(node: Node, axes: Axes): number {
  switch (node.kind) {
    case "constant":
      return 1;
    case "number":
      return axes[node.entry.index]!.count;
    case "object":
      return node.entries.reduce((product, [, child]) => product * sizeOf(child, axes), 1);
    default:
      return node.options.reduce((sum, option) => sum + sizeOf(option, axes), 0);
  }
}

/** Adds the values at this position of the node's own grid to `chosen`. */
function choose(node: Node, place: number, axes: Axes, chosen: Map<number, number>): void {
  if (node.kind === "number") chosen.set(node.entry.index, axes[node.entry.index]!.at(place));
  else if (node.kind === "object") {
    let rest = place;
    for (const [, child] of node.entries.toReversed()) {
      const size = sizeOf(child, axes);
      choose(child, rest % size, axes, chosen);
      rest = Math.floor(rest / size);
    }
  } else if (node.kind === "choice") {
    let rest = place;
    for (const [i, option] of node.options.entries()) {
      const size = sizeOf(option, axes);
      if (rest < size) {
        chosen.set(node.entry.index, i);
        choose(option, rest, axes, chosen);
        return;
      }
      rest -= size;
    }
  }
}
