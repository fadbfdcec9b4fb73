// Reads params by the nodes of their space: which options they chose, and the value of every parameter there is.
import { show } from "../../core/options.ts";
import { didYouMean } from "../../core/suggest.ts";
import type { Node } from "./compile.ts";
import { isPlainObject } from "./compile.ts";

/** For each parameter its number, or the place of its option; undefined where it does not exist. */
export type Values = (number | undefined)[];

export interface Mismatch {
  readonly path: string;
  readonly message: string;
}

/** Fills `values`, or says what does not fit. */
export function match(node: Node, value: unknown, path: string, values: Values): Mismatch | undefined {
  switch (node.kind) {
    case "constant":
      if (same(node.value, value)) return undefined;
      return { path, message: `is \`${JSON.stringify(node.value)}\` in the space, got ${show(value)}` };
    case "number": {
      const { domain, index } = node.entry;
      if (typeof value !== "number" || !domain.has(value)) {
        return { path, message: `expected ${domain.expected}, got ${show(value)}` };
      }
      values[index] = value;
      return undefined;
    }
    case "object":
      return matchObject(node, value, path, values);
    default:
      return matchChoice(node, value, path, values);
  }
}

function matchObject(
  { entries }: Extract<Node, { kind: "object" }>,
  value: unknown,
  path: string,
  values: Values,
): Mismatch | undefined {
  if (!isPlainObject(value)) return { path, message: `expected an object, got ${show(value)}` };
  const join = (key: string): string => (path === "" ? key : `${path}.${key}`);
  for (const [key, child] of entries) {
    if (!Object.hasOwn(value, key)) return { path: join(key), message: "is missing" };
    const mismatch = match(child, value[key], join(key), values);
    if (mismatch !== undefined) return mismatch;
  }
  const known = entries.map(([key]) => key);
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown === undefined) return undefined;
  return { path: join(unknown), message: `is not in the space.${didYouMean(unknown, known)}` };
}

/** The first option that fits. */
function matchChoice(
  { entry, options }: Extract<Node, { kind: "choice" }>,
  value: unknown,
  path: string,
  values: Values,
): Mismatch | undefined {
  let deeper: Mismatch | undefined;
  for (const [i, option] of options.entries()) {
    const attempt: Values = [];
    const mismatch = match(option, value, path, attempt);
    if (mismatch === undefined) {
      values[entry.index] = i;
      for (const [index, found] of attempt.entries()) if (found !== undefined) values[index] = found;
      return undefined;
    }
    // The option that was meant: its constants fit, and what does not is one of its parameters.
    if (constantsFit(option, value)) deeper ??= mismatch;
  }
  return deeper ?? { path, message: `expected one of ${entry.labels.join(", ")}, got ${show(value)}` };
}

function constantsFit(option: Node, value: unknown): boolean {
  if (option.kind !== "object" || !isPlainObject(value)) return false;
  const constants = option.entries.filter(([, node]) => node.kind === "constant");
  return constants.length > 0 && constants.every(([key, node]) => match(node, value[key], "", []) === undefined);
}

function same(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => same(item, b[i]));
  return a === b;
}
