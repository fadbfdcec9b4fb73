// The sources as a browser's bundler sees them: esbuild, platform browser, `hookline` resolved to src/.
import { fileURLToPath } from "node:url";
import { build, type BuildOptions, type Metafile } from "esbuild";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What package.json exports, with the source behind each. */
export const ENTRIES: Readonly<Record<string, string>> = {
  hookline: "src/index.ts",
  "hookline/nn": "src/nn/index.ts",
  "hookline/optim": "src/optim/index.ts",
  "hookline/data": "src/data/index.ts",
  "hookline/checkpoint": "src/checkpoint/index.ts",
  "hookline/loggers": "src/loggers/index.ts",
  "hookline/runs": "src/runs/index.ts",
  "hookline/experiment": "src/experiment/index.ts",
  "hookline/config": "src/config/index.ts",
  "hookline/jax": "src/jax/index.ts",
  "hookline/native": "src/native/index.ts",
  "hookline/xla": "src/xla/index.ts",
  "hookline/tune": "src/tune/index.ts",
  "hookline/predict": "src/predict/index.ts",
  "hookline/lm": "src/lm/index.ts",
  "hookline/testing": "src/testing/index.ts",
};

type Program = { readonly file: string } | { readonly source: string };

const options = (program: Program, jax: boolean, platform: "browser" | "node" = "browser"): BuildOptions => ({
  ...("file" in program
    ? { entryPoints: [program.file] }
    : { stdin: { contents: program.source, resolveDir: root, loader: "ts" } }),
  absWorkingDir: root,
  bundle: true,
  metafile: true,
  format: "esm",
  platform,
  target: "es2022",
  logLevel: "silent",
  // In Node a package is beside the program, and its own size is another matter.
  ...(platform === "node" ? { packages: "external" } : { external: jax ? [] : ["@jax-js/jax"] }),
  alias: Object.fromEntries(Object.entries(ENTRIES).map(([name, file]) => [name, root + file])),
});

/** Bundles a program for a browser; `jax` says whether jax-js goes in. A `node:` import is an error of esbuild's. */
export async function bundle(program: Program, { jax }: { jax: boolean }): Promise<{ code: string; meta: Metafile }> {
  const { outputFiles, metafile } = await build({ ...options(program, jax), write: false, metafile: true });
  return { code: outputFiles[0]!.text, meta: metafile };
}

/** The code that is loaded at once, minified and without jax-js: not what is loaded on first use. */
export async function firstDownload(program: Program, platform?: "browser" | "node"): Promise<string[]> {
  const split = { minify: true, splitting: true, outdir: `${root}bundle`, metafile: true, write: false } as const;
  const { outputFiles, metafile } = await build({ ...options(program, false, platform), ...split });
  const entry = Object.keys(metafile.outputs).find((path) => metafile.outputs[path]!.entryPoint === "<stdin>")!;
  const needed = new Set([entry]);
  for (const path of needed) {
    const { imports } = metafile.outputs[path]!;
    for (const each of imports) if (each.kind === "import-statement" && !each.external) needed.add(each.path);
  }
  return outputFiles.filter(({ path }) => [...needed].some((one) => path.endsWith(one))).map(({ text }) => text);
}
