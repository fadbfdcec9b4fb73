// Bundles the dashboard's pages: src/ui/page/ becomes index.html, app.js and app.css, which load nothing from elsewhere.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(fileURLToPath(import.meta.url));
const pages = join(root, "src/ui/page");
const BUNDLED = ["preact", "@preact/signals", "@preact/signals-core", "uplot"];

/** @param {string} folder */
export async function buildPages(folder) {
  mkdirSync(folder, { recursive: true });
  for (const file of ["index.html", "icon.svg"]) copyFileSync(join(pages, file), join(folder, file));
  const licenses = BUNDLED.map(
    (name) => `${name}\n\n${readFileSync(join(root, "node_modules", name, "LICENSE"), "utf8")}`,
  );
  writeFileSync(join(folder, "LICENSES.txt"), licenses.join("\n\n"));
  await build({
    entryPoints: [
      { in: join(pages, "main.tsx"), out: "app" },
      { in: join(pages, "app.css"), out: "app" },
    ],
    outdir: folder,
    absWorkingDir: root,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    logLevel: "warning",
  });
}
