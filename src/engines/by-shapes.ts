// Engines compile a program once for arguments of the same structure, shapes and types, which are in the same place.
import type { Buffer, Tree } from "./engine.ts";

type PlaceOf = (buffer: Buffer) => string;

export function byShapes<T>(
  compile: (args: readonly Tree<Buffer>[]) => T,
  placeOf: PlaceOf = () => "",
): (args: readonly Tree<Buffer>[]) => T {
  const known = new Map<string, T>();
  // Nearly every call has arguments like those of the one before: comparing takes a fraction of describing them.
  let last: { readonly args: Described; readonly compiled: T } | undefined;
  return (args) => {
    if (last && isLike(last.args, args, placeOf)) return last.compiled;
    const key = args.map((arg) => text(arg, placeOf)).join();
    let compiled = known.get(key);
    if (compiled === undefined) {
      compiled = compile(args);
      known.set(key, compiled);
    }
    last = { args: describe(args, placeOf), compiled };
    return compiled;
  };
}

/** What counts of a tree of buffers, which is not kept alive. */
type Described =
  | { readonly shape: readonly number[]; readonly dtype: string; readonly place: string }
  | { readonly keys: readonly string[]; readonly branches: readonly Described[] };

function describe(tree: Tree<Buffer>, placeOf: PlaceOf): Described {
  const { shape, dtype } = tree as Buffer;
  if (Array.isArray(shape)) return { shape: [...(shape as number[])], dtype, place: placeOf(tree as Buffer) };
  const branches = Object.values(tree as Readonly<Record<string, Tree<Buffer>>>);
  return { keys: Object.keys(tree), branches: branches.map((branch) => describe(branch, placeOf)) };
}

function isLike(known: Described, tree: Tree<Buffer>, placeOf: PlaceOf): boolean {
  if ("shape" in known) {
    const buffer = tree as Buffer;
    return buffer.dtype === known.dtype && isSame(known.shape, buffer.shape) && placeOf(buffer) === known.place;
  }
  const keys = Object.keys(tree);
  if (keys.length !== known.keys.length) return false;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!;
    const branch = (tree as Readonly<Record<string, Tree<Buffer>>>)[key]!;
    if (key !== known.keys[i] || !isLike(known.branches[i]!, branch, placeOf)) return false;
  }
  return true;
}

function isSame(shape: readonly number[], other: readonly number[] | undefined): boolean {
  if (!Array.isArray(other) || other.length !== shape.length) return false;
  for (let i = 0; i < shape.length; i++) if (shape[i] !== other[i]) return false;
  return true;
}

function text(tree: Tree<Buffer>, placeOf: PlaceOf): string {
  const { shape, dtype } = tree as Buffer;
  if (Array.isArray(shape)) return `${dtype}[${shape.join()}]${placeOf(tree as Buffer)}`;
  const branches = Object.entries(tree as Readonly<Record<string, Tree<Buffer>>>);
  return `{${branches.map(([key, branch]) => `${key}:${text(branch, placeOf)}`).join()}}`;
}
