// The sources as a browser's bundler sees them: esbuild, platform browser, `hookline` resolved to src/.
import { fileURLToPath } from "node:url";
import { build, type Metafile } from "esbuild";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What package.json exports, with the source behind each. */
export const ENTRIES: Readonly<Record<string, string>> = {
  hookline: "src/index.ts",
  "hookline/nn": "src/nn/index.ts",
  "hookline/optim": "src/optim/index.ts",
  "hookline/data": "src/data/index.ts",
  "hookline/checkpoint": "src/checkpoint/index.ts",
  "hookline/testing": "src/testing/index.ts",
};

/** Bundles a program for a browser; `jax` says whether jax-js goes in. A `node:` import is an error of esbuild's. */
export async function bundle(
  program: { file: string } | { source: string },
  { jax, minify = false }: { jax: boolean; minify?: boolean },
): Promise<{ code: string; meta: Metafile }> {
  const { outputFiles, metafile } = await build({
    ...("file" in program
      ? { entryPoints: [program.file] }
      : { stdin: { contents: program.source, resolveDir: root, loader: "ts" } }),
    absWorkingDir: root,
    bundle: true,
    write: false,
    metafile: true,
    minify,
    format: "esm",
    platform: "browser",
    target: "es2022",
    logLevel: "silent",
    external: jax ? [] : ["@jax-js/jax"],
    alias: Object.fromEntries(Object.entries(ENTRIES).map(([name, file]) => [name, root + file])),
  });
  return { code: outputFiles[0]!.text, meta: metafile };
}
