// The import graph of src/: who imports whom, what is only a type, and the cycles in it.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const SRC = fileURLToPath(new URL("../../src/", import.meta.url));
const STATEMENT =
  /^(?:import|export)\s+(type\s+)?([^"';]*?)\s*from\s+"(\.[^"]+)";|\bimport\(\s*"(\.[^"]+)"\s*\)(\.\w)?/gm;

export interface Import {
  readonly from: string;
  readonly to: string;
  /** Does nothing of it remain when types are erased? */
  readonly typeOnly: boolean;
  /** `await import(…)`: loaded when it is needed, so it cannot be part of a cycle while modules load. */
  readonly lazy: boolean;
}

/** The source files, without tests, relative to src/. */
export const sourceFiles = (): string[] =>
  readdirSync(SRC, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file) && !/\.test(-d)?\.ts$/.test(file))
    .sort();

export const linesIn = (file: string): number => readFileSync(join(SRC, file), "utf8").split("\n").length - 1;

/** True for `{ type A, type B }`: every name is a type. */
const namesOnlyTypes = (clause: string): boolean =>
  clause.startsWith("{") &&
  clause
    .slice(1, -1)
    .split(",")
    .map((name) => name.trim())
    .every((name) => name === "" || name.startsWith("type "));

export function importsOf(file: string): Import[] {
  const text = readFileSync(join(SRC, file), "utf8");
  return [...text.matchAll(STATEMENT)].map(([, type, clause, fixed, dynamic, member]) => ({
    from: file,
    to: relative(SRC, join(SRC, dirname(file), (fixed ?? dynamic)!)),
    // `import("./a.ts").Name` is a type; `await import("./a.ts")` is not.
    typeOnly: type !== undefined || (clause !== undefined && namesOnlyTypes(clause)) || member !== undefined,
    lazy: dynamic !== undefined,
  }));
}

/** The groups of two or more nodes that can all reach each other (Tarjan's algorithm). */
export function cycles(edges: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (node: string): void => {
    index.set(node, index.size);
    low.set(node, index.get(node)!);
    stack.push(node);
    for (const next of edges.get(node) ?? []) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) low.set(node, Math.min(low.get(node)!, low.get(next)!));
    }
    if (low.get(node) !== index.get(node)) return;
    const group = stack.splice(stack.indexOf(node));
    if (group.length > 1) found.push(group.toSorted());
  };
  for (const node of edges.keys()) if (!index.has(node)) visit(node);
  return found;
}

/** The folder that a file belongs to: `core`, or `.` for what lies in src/ itself. */
export const folderOf = (file: string): string => (file.includes("/") ? file.slice(0, file.indexOf("/")) : ".");

/** Nodes and whom they import, from the imports that count, with files grouped by `name`. */
export function graph(imports: readonly Import[], name: (file: string) => string): Map<string, Set<string>> {
  const edges = new Map<string, Set<string>>();
  for (const { from, to } of imports) {
    if (name(from) === name(to)) continue;
    edges.set(name(from), (edges.get(name(from)) ?? new Set()).add(name(to)));
  }
  return edges;
}
