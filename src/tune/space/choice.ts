// choice: one of several options. Options that are objects may hold parameters, which exist only where they are chosen.
import { OptionError } from "../../core/errors.ts";
import { show } from "../../core/options.ts";
import { PARAMETER, type Choice, type SpaceValue } from "./parameter.ts";

/**
 * @example
 * {
 *   activation: choice(["relu", "gelu"]),
 *   optimizer: choice([{ use: "sgd", momentum: uniform(0, 0.99) }, { use: "adamw" }]),
 * }
 */
export function choice<const T extends SpaceValue>(options: readonly T[]): Choice<T> {
  if (!Array.isArray(options)) {
    throw new OptionError(`choice: Expected \`options\` to be an array, got ${show(options)}`, { option: "options" });
  }
  if (options.length === 0) {
    throw new OptionError("choice: `options` is empty: there is nothing to choose from.", { option: "options" });
  }
  return { [PARAMETER]: true, kind: "choice", options: [...options] as readonly T[] };
}
