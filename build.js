// Builds the package: `node build.js [folder] [--noCheck]`. Compiles src/ to dist/, then writes the declarations a second
// time for compilers before TypeScript 5.8, and bundles the dashboard's pages. Plain JavaScript, because npm runs it as `prepare` wherever it packs a clone.
import { execFileSync, execSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(fileURLToPath(import.meta.url));
const { resolve: find } = createRequire(import.meta.url);
const [dist = join(root, "dist")] = process.argv.slice(2).filter((word) => !word.startsWith("--"));

/** The compiler. `npm pack` in a fresh clone runs `prepare` without having installed it, or anything else. */
function compiler() {
  try {
    return find("typescript/package.json");
  } catch {
    execSync("npm ci --ignore-scripts --workspaces=false --no-audit --no-fund", { cwd: root, stdio: "inherit" });
    return find("typescript/package.json");
  }
}

/** Before 5.7 typed arrays have no type parameter, before 5.8 there is no Float16Array. */
function downlevel(text) {
  return text
    .replaceAll(/ \| Float16Array<ArrayBuffer>/g, "")
    .replaceAll(/\b(\w+Array|DataView)<ArrayBuffer(?:Like)?>/g, "$1")
    .replace(/^\/\/\/ <reference lib="esnext\.float16".*\n/m, "");
}

/** Copies what `types` of package.json and the modules behind it need, with jax-js's own declarations. */
function writeOldTypes() {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const old = join(dist, "types-5.6");
  const jax = join(dirname(find("@jax-js/jax")), "index.d.ts");
  const jaxCopy = join(old, "jax-js.d.ts");
  const entries = Object.values(exports).flatMap(({ types }) => types ?? []);
  const files = new Set(entries.map((file) => join(dist, relative("dist", file))));
  for (const file of files) {
    const copy = join(old, relative(dist, file));
    const toJax = `./${relative(dirname(copy), jaxCopy)}`.replace("./..", "..").replace(".d.ts", ".js");
    const text = readFileSync(file, "utf8").replaceAll('"@jax-js/jax"', JSON.stringify(toJax));
    for (const [, module] of text.matchAll(/(?:from |import |import\()"(\.[^"]+)\.ts"/g))
      files.add(resolve(dirname(file), `${module}.d.ts`));
    mkdirSync(dirname(copy), { recursive: true });
    writeFileSync(copy, downlevel(text));
  }
  writeFileSync(jaxCopy, downlevel(readFileSync(jax, "utf8")));
}

const tsc = join(dirname(compiler()), "bin/tsc");
const check = process.argv.filter((word) => word === "--noCheck");
rmSync(dist, { recursive: true, force: true });
execFileSync(process.execPath, [tsc, "-p", join(root, "tsconfig.build.json"), "--outDir", dist, ...check], {
  stdio: "inherit",
});
writeOldTypes();
// Loaded only now: in a fresh clone `compiler()` has just installed it.
const { buildPages } = await import("./build-pages.js");
await buildPages(join(dist, "ui"));
