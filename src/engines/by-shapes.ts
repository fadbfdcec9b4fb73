// Engines compile a program once for arguments of the same structure, shapes and types, which are in the same place.
import type { Buffer, Tree } from "./engine.ts";

export function byShapes<T>(
  compile: (args: readonly Tree<Buffer>[]) => T,
  placeOf: (buffer: Buffer) => string = () => "",
): (args: readonly Tree<Buffer>[]) => T {
  const known = new Map<string, T>();
  return (args) => {
    const key = args.map((arg) => describe(arg, placeOf)).join();
    let compiled = known.get(key);
    if (compiled === undefined) {
      compiled = compile(args);
      known.set(key, compiled);
    }
    return compiled;
  };
}

function describe(tree: Tree<Buffer>, placeOf: (buffer: Buffer) => string): string {
  const { shape, dtype } = tree as Buffer;
  if (Array.isArray(shape)) return `${dtype}[${shape.join()}]${placeOf(tree as Buffer)}`;
  const branches = Object.entries(tree as Readonly<Record<string, Tree<Buffer>>>);
  return `{${branches.map(([key, branch]) => `${key}:${describe(branch, placeOf)}`).join()}}`;
}
