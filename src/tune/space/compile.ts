// Compiles a space to nodes, and lists its parameters in an order in which a choice comes before those that depend on it.
import { OptionError } from "../../core/errors.ts";
import { type Json, show } from "../../core/options.ts";
import { isParameter, type NumberParameter, type Parameter } from "./parameters.ts";

/** A parameter exists only where this choice has this option. */
interface Condition {
  /** The index of the choice. */
  readonly index: number;
  readonly path: string;
  /** The index of the option. */
  readonly option: number;
  /** The option as text. */
  readonly label: string;
}

interface Entry {
  /** Its index in the list of parameters. Paths are not unique: options may hold the same key. */
  readonly index: number;
  /** Where it is in the params: `optimizer.lr`. */
  readonly path: string;
  readonly condition: Condition | undefined;
}

export interface NumberEntry extends Entry {
  readonly kind: NumberParameter["kind"];
  readonly domain: NumberParameter;
}

export interface ChoiceEntry extends Entry {
  readonly kind: "choice";
  /** One for each option. */
  readonly labels: readonly string[];
}

/** A parameter, and where it is. */
export type SpaceParameter = NumberEntry | ChoiceEntry;

export type Node =
  | { readonly kind: "constant"; readonly value: Json }
  | { readonly kind: "object"; readonly entries: readonly (readonly [key: string, node: Node])[] }
  | { readonly kind: "number"; readonly entry: NumberEntry }
  | { readonly kind: "choice"; readonly entry: ChoiceEntry; readonly options: readonly Node[] };

export interface Compiled {
  readonly root: Node;
  readonly parameters: readonly SpaceParameter[];
}

/** Ends the recursion into an object that holds itself. */
export const MAX_DEPTH = 32;

interface Position {
  /** Among the params. */
  readonly path: string;
  /** As the user wrote it, with indices of options: `optimizer[1].lr`. */
  readonly written: string;
  readonly depth: number;
  readonly condition: Condition | undefined;
}

const problem = (written: string, what: string): OptionError =>
  new OptionError(`space: ${written === "" ? "" : `\`${written}\`: `}${what}`, { option: written });

export const isPlainObject = (value: unknown): value is Readonly<Record<string, unknown>> => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // Also true for objects of another realm, such as a test runner's.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};

/** An option as text: the component that it uses, its value, or JSON without its parameters. */
function labelOf(option: unknown): string {
  if (typeof option === "string") return option;
  if (isPlainObject(option) && typeof option.use === "string") return option.use;
  if (isParameter(option)) return option.kind === "choice" ? "choice" : option.expected;
  return JSON.stringify(option, (_, value: unknown) => (isParameter(value) ? undefined : value)) ?? "undefined";
}

export function compile(tree: unknown): Compiled {
  if (isParameter(tree) || !isPlainObject(tree)) {
    throw problem("", `expected an object of parameters by name, got ${isParameter(tree) ? tree.kind : show(tree)}`);
  }
  const parameters: SpaceParameter[] = [];

  const readParameter = (parameter: Parameter, at: Position): Node => {
    const place = { index: parameters.length, path: at.path, condition: at.condition };
    if (parameter.kind !== "choice") {
      const entry: NumberEntry = { ...place, kind: parameter.kind, domain: parameter };
      parameters.push(entry);
      return { kind: "number", entry };
    }
    const labels = parameter.options.map(labelOf);
    const entry: ChoiceEntry = { ...place, kind: "choice", labels };
    parameters.push(entry);
    const seen = new Map<string, number>();
    const options = parameter.options.map((option, i) => {
      const before = parameters.length;
      const node = read(option, {
        path: at.path,
        written: `${at.written}[${i}]`,
        depth: at.depth + 1,
        condition: { index: place.index, path: at.path, option: i, label: labels[i]! },
      });
      if (parameters.length > before) return node;
      const text = JSON.stringify(option);
      if (seen.has(text)) {
        throw problem(at.written, `options ${seen.get(text)} and ${i} are the same (${labels[i]}). Leave one out.`);
      }
      seen.set(text, i);
      return node;
    });
    return { kind: "choice", entry, options };
  };

  const read = (value: unknown, at: Position): Node => {
    if (at.depth > MAX_DEPTH) {
      throw problem(at.written, `nested more than ${MAX_DEPTH} deep. Does an object hold itself?`);
    }
    if (isParameter(value)) return readParameter(value, at);
    if (Array.isArray(value)) return { kind: "constant", value: readList(value, at.written) };
    if (isPlainObject(value)) {
      const given = Object.entries(value).filter(([, child]) => child !== undefined);
      const entries = given.map(([key, child]) => {
        const written = at.written === "" ? key : `${at.written}.${key}`;
        if (key === "__proto__") throw problem(written, "this key means something else in JavaScript. Rename it.");
        if (key === "" || key.includes(".")) {
          throw problem(written, `\`${key}\` cannot be a key: paths are written with dots. Nest it: { a: { b: … } }.`);
        }
        const path = at.path === "" ? key : `${at.path}.${key}`;
        return [key, read(child, { ...at, path, written, depth: at.depth + 1 })] as const;
      });
      return { kind: "object", entries };
    }
    return { kind: "constant", value: readScalar(value, at.written) };
  };

  const root = read(tree, { path: "", written: "", depth: 0, condition: undefined });
  if (parameters.length === 0) {
    throw problem("", "there is no parameter to search, only constants. Use uniform, logUniform, int or choice.");
  }
  return { root, parameters };
}

function readList(list: readonly unknown[], written: string): Json {
  return list.map((item, i) => {
    if (isParameter(item)) {
      throw problem(`${written}[${i}]`, "a parameter in a list has no name. Give it a key of its own.");
    }
    if (typeof item === "object" && item !== null) {
      throw problem(
        `${written}[${i}]`,
        `a list in a space holds plain values only, got ${show(item)}. For one of several, use choice([…]).`,
      );
    }
    return readScalar(item, `${written}[${i}]`);
  });
}

function readScalar(value: unknown, written: string): Json {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw problem(
    written,
    typeof value === "function"
      ? `params are plain data, got ${show(value)}. Name it, and look it up in the trial.`
      : `expected a parameter or a constant that JSON can hold, got ${show(value)}`,
  );
}
