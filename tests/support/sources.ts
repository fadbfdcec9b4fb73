// The source files and what each imports, read from their text: types count too, and a bundler would not show them.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url));

export interface Import {
  /** As written, or from the root when it is one of our files: `src/core/hook.ts`. */
  readonly from: string;
  /** The names it takes; empty for `import "…"`, `import("…")` and `* as`. */
  readonly names: readonly string[];
  /** `import type`: gone after compilation. */
  readonly typeOnly: boolean;
}

/** Every .ts and .tsx file under a folder of src, tests left out; none when the folder is not there. */
export function sources(folder: string): string[] {
  try {
    return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => /\.tsx?$/.test(file) && !/\.test(-d)?\.ts$/.test(file))
      .map((file) => join(folder, file))
      .sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** `a, type B, c as d` → a, B, c */
const namesIn = (list: string): string[] =>
  list
    .split(",")
    .map((item) => item.trim().replace(/^type\s+/, ""))
    .filter(Boolean)
    .map((item) => item.split(/\s+as\s+/)[0]!);

export function importsOf(file: string): Import[] {
  // Comments may show an import as an example.
  const text = readFileSync(join(root, file), "utf8").replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, "");
  const statements = text.matchAll(/^\s*(?:import|export)\b(?:([^;"']*?)\bfrom\s*)?\s*["']([^"']+)["']/gm);
  const calls = text.matchAll(/\b(?:import|require|getBuiltinModule)\(\s*["']([^"']+)["']/g);
  const resolved = (from: string): string =>
    from.startsWith(".") ? relative(root, join(root, dirname(file), from)) : from;
  return [
    ...[...statements].map(([, clause = "", from]) => ({
      from: resolved(from!),
      names: namesIn(/\{([^]*)\}/.exec(clause)?.[1] ?? ""),
      typeOnly: /^\s*type\b/.test(clause),
    })),
    ...[...calls].map(([, from]) => ({ from: resolved(from!), names: [], typeOnly: false })),
  ];
}

/** The barrel, and those of which it exports everything. */
export function barrelsOf(barrel: string): string[] {
  const text = readFileSync(join(root, barrel), "utf8");
  const others = [...text.matchAll(/^export \* from "(\.[^"]+)"/gm)].map(([, from]) => join(dirname(barrel), from!));
  return [barrel, ...others.flatMap(barrelsOf)];
}

/** The names that a barrel exports, types too. */
export function exportsOf(barrel: string): string[] {
  return barrelsOf(barrel).flatMap((file) => {
    const text = readFileSync(join(root, file), "utf8");
    return [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list]) =>
      list!
        .split(",")
        .map((item) => item.trim().replace(/^type\s+/, ""))
        .filter(Boolean)
        .map((item) => item.split(/\s+as\s+/).at(-1)!),
    );
  });
}
