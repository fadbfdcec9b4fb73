// What building a config needs everywhere: the config that was read, the kinds it can name, the problems found so far, and
// components that are checked but not made yet.
import { OptionError } from "../../core/errors.ts";
import { builtin } from "../../platform/builtin.ts";
import { redact, secretsOfEnvironment } from "../../platform/redact.ts";
import { ConfigError, type ConfigPath } from "../config/config-error.ts";
import { configError, type ConfigDocument } from "../config/config-tree.ts";
import { insideProject } from "../config/project.ts";
import type { Setup } from "../types.ts";
import type { Kinds } from "./kinds.ts";

/** Keys and values, as opposed to a list or a single value. */
export const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A component that has been checked and can be made. */
export interface Recipe {
  /** It contains a user export that may look at the data, so it is made after the data has been read. */
  readonly needsSetup: boolean;
  /** Throws a ConfigError with the component's position. */
  make(setup?: Setup): unknown;
}

export const given = (value: unknown): Recipe => ({ needsSetup: false, make: () => value });

/** Several recipes as one that makes a list. */
export function listed(recipes: readonly Recipe[]): Recipe {
  return {
    needsSetup: recipes.some(({ needsSetup }) => needsSetup),
    make: (setup) => recipes.map((recipe) => recipe.make(setup)),
  };
}

/** Several recipes as one that makes a map by name. */
export function byName(recipes: Readonly<Record<string, Recipe>>): Recipe {
  const entries = Object.entries(recipes);
  return {
    needsSetup: entries.some(([, { needsSetup }]) => needsSetup),
    make: (setup) => Object.fromEntries(entries.map(([name, recipe]) => [name, recipe.make(setup)])),
  };
}

/** A component says whose option it is; for an option of the config itself, the path says it already. */
const withoutOwner = (message: string): string =>
  message.replace(/^config: (.)/, (_, first: string) => first.toUpperCase());

/** Lists the known options of an owner with its first unknown option only. */
function listOnce(errors: readonly ConfigError[]): void {
  const said = new Set<string>();
  for (const error of errors) {
    const known = / Known options: .*$/.exec(error.message)?.[0];
    if (known === undefined) continue;
    if (said.has(known)) error.message = error.message.slice(0, -known.length);
    said.add(known);
  }
}

/** A config being built. Problems are collected, so that one attempt shows all of them. */
export class BuildContext {
  readonly doc: ConfigDocument;
  readonly kinds: Kinds;
  /** The config is about to run: a missing key or package is a problem too. */
  readonly forRun: boolean;
  readonly #errors: ConfigError[] = [];

  constructor(doc: ConfigDocument, kinds: Kinds, forRun = false) {
    this.doc = doc;
    this.kinds = kinds;
    this.forRun = forRun;
  }

  /** The error of a value at `path`. Values come from the environment too: no message shows a secret. */
  at(path: ConfigPath, message: string, cause?: unknown): ConfigError {
    return configError(this.doc, path, redact(message, secretsOfEnvironment()), cause);
  }

  add(path: ConfigPath, message: string, cause?: unknown): void {
    this.#errors.push(this.at(path, message, cause));
  }

  /** What `make` returns, or undefined when it throws: then that is a problem of the value at `path`. */
  attempt<T>(path: ConfigPath, make: () => T): T | undefined {
    try {
      return make();
    } catch (error) {
      this.#keep(path, error);
      return undefined;
    }
  }

  async attemptAsync<T>(path: ConfigPath, make: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await make();
    } catch (error) {
      this.#keep(path, error);
      return undefined;
    }
  }

  /** Throws all problems found so far, in the order of the file. */
  check(): void {
    const line = ({ position }: ConfigError): number => position?.line ?? 0;
    if (this.#errors.length === 0) return;
    const sorted = this.#errors.toSorted((a, b) => line(a) - line(b));
    listOnce(sorted);
    throw ConfigError.of(sorted);
  }

  #keep(path: ConfigPath, error: unknown): void {
    // An error with a position of its own keeps it; any other is a problem of the value at `path`.
    if (error instanceof ConfigError && error.position !== undefined) this.#errors.push(error);
    else this.add(path, error instanceof Error ? withoutOwner(error.message) : `it threw ${String(error)}`, error);
  }
}

/**
 * The path of a file that a config names. One that is read is relative to the config and must lie in the project; one that is
 * written is relative to the project, and outside of it only as an absolute path.
 */
export function filePath({ doc }: BuildContext, file: string, use: "read" | "write", path: ConfigPath): string {
  const { isAbsolute, relative } = builtin("A config", "node:path");
  if (use === "write" && isAbsolute(file)) return file;
  const from = use === "read" ? doc.directoryOf(path) : doc.project;
  const found = insideProject(doc.project, file, { from });
  // Reported now rather than when the data is read.
  if (use === "read" && !builtin("A config", "node:fs").existsSync(found))
    throw new OptionError(`There is no file ${file} in ${from}.`);
  // Relative paths stay short in messages when the program runs in the project.
  return relative(builtin("A config", "node:process").cwd(), found) || ".";
}
