// Fits tensors of other software to a model: renames them, and compares names and shapes with the model's own.
import { CheckpointError, OptionError } from "../../core/errors.ts";
import { checkOptions, is, show } from "../../core/options.ts";
import { quote, suggestName } from "./tensor.ts";

export interface RenameOptions {
  /** Taken off the front of every name: `module.` of DataParallel, `model.` of Lightning. */
  readonly prefix?: string;
  /** New names for old ones (after the prefix is off), whole or up to a dot: `{ encoder: "blocks.0" }`. A function may leave a tensor out by returning undefined. */
  readonly rename?: Readonly<Record<string, string>> | ((name: string) => string | undefined);
  /** False leaves out names without the prefix and ignores renames of what is not there (default true: both are errors). */
  readonly strict?: boolean;
}

export const RENAME_CHECKS = { prefix: is.string, rename: is.or(is.object, is.function), strict: is.boolean };

/** The same tensors under other names; `what` is where they come from, for errors. */
export function renameTensors<T>(
  tensors: Readonly<Record<string, T>>,
  options: RenameOptions,
  what = "the tensors",
): Record<string, T> {
  checkOptions("Renaming tensors", options, RENAME_CHECKS);
  const { prefix = "", rename = {}, strict = true } = options;
  const used = new Set<string>();
  const newName = typeof rename === "function" ? rename : (name: string) => renamed(name, rename, used);
  const result = Object.create(null) as Record<string, T>;
  for (const [name, tensor] of Object.entries(tensors)) {
    if (!name.startsWith(prefix)) {
      if (!strict) continue;
      throw new CheckpointError(
        what,
        `tensor ${quote(name)} does not begin with the prefix ${quote(prefix)}`,
        "Use strict: false to leave such tensors out.",
      );
    }
    const to = newName(name.slice(prefix.length));
    if (to === undefined) continue;
    if (typeof to !== "string")
      throw new OptionError(`Renaming tensors: Expected \`rename\` to return a name, got ${show(to)}`);
    if (Object.hasOwn(result, to))
      throw new CheckpointError(what, `two tensors would be named ${quote(to)}`, "Change `rename`.");
    result[to] = tensor;
  }
  const unused =
    typeof rename === "function" || !strict ? undefined : Object.keys(rename).find((from) => !used.has(from));
  if (unused !== undefined) {
    const names = Object.keys(tensors).map((name) => name.slice(prefix.length));
    throw new CheckpointError(
      what,
      `\`rename\` names ${quote(unused)}, which is not there`,
      `Correct it, or use strict: false.${suggestName(unused, names)}`,
    );
  }
  return result;
}

/** The longest entry that is the name, or its part up to a dot, decides. */
function renamed(name: string, rename: Readonly<Record<string, string>>, used: Set<string>): string {
  for (let end = name.length; end > 0; end = name.lastIndexOf(".", end - 1)) {
    const part = name.slice(0, end);
    if (!Object.hasOwn(rename, part)) continue;
    used.add(part);
    return rename[part]! + name.slice(end);
  }
  return name;
}

interface Shaped {
  readonly shape: readonly number[];
}

export interface Match<T> {
  /** Those that the model wants, in its order. */
  readonly tensors: Record<string, T>;
  /** What the model wants and the file lacks. */
  readonly missing: readonly string[];
  /** What the file has and the model does not want. */
  readonly unexpected: readonly string[];
}

/** Compares names and shapes with a model's own (`trainer.stateDict()`), as PyTorch's `load_state_dict` does. */
export function matchTensors<T extends Shaped>(
  tensors: Readonly<Record<string, T>>,
  own: Readonly<Record<string, Shaped>>,
  { strict = true }: { readonly strict?: boolean } = {},
  what = "the tensors",
): Match<T> {
  const missing = Object.keys(own).filter((name) => !Object.hasOwn(tensors, name));
  const unexpected = Object.keys(tensors).filter((name) => !Object.hasOwn(own, name));
  if (strict && missing.length + unexpected.length > 0) {
    const list = (names: readonly string[]): string =>
      names.slice(0, 5).map(quote).join(", ") + (names.length > 5 ? ` and ${names.length - 5} more` : "");
    const lacks = missing.length > 0 ? [`lacks ${list(missing)}`] : [];
    const has = unexpected.length > 0 ? [`has ${list(unexpected)}, which the model does not`] : [];
    throw new CheckpointError(
      what,
      [...lacks, ...has].join(" and "),
      "Use `prefix` or `rename` if only the names differ, strict: false to load what fits.",
    );
  }
  const fitting = Object.create(null) as Record<string, T>;
  for (const [name, { shape }] of Object.entries(own)) {
    const tensor = Object.hasOwn(tensors, name) ? tensors[name] : undefined;
    if (tensor === undefined) continue;
    if (tensor.shape.join() !== shape.join()) {
      throw new CheckpointError(
        what,
        `tensor ${quote(name)} has shape [${tensor.shape.join(", ")}], and the model wants [${shape.join(", ")}]`,
        "It is of another model: build the model with the same sizes.",
      );
    }
    fitting[name] = tensor;
  }
  return { tensors: fitting, missing, unexpected };
}

/** How weights of other software are fitted to a model. */
export type LoadStateDictOptions = RenameOptions;

/** What had no counterpart. Empty unless `strict` is false. */
export type LoadedStateDict = Pick<Match<never>, "missing" | "unexpected">;

/** Renames, then matches, as `trainer.loadStateDict` does. */
export function fitStateDict<T extends Shaped>(
  tensors: Readonly<Record<string, T>>,
  own: Readonly<Record<string, Shaped>>,
  options: LoadStateDictOptions,
): Match<T> {
  const what = "The state dict";
  const { strict = true } = options;
  return matchTensors(renameTensors(tensors, options, what), own, { strict }, what);
}
