// hookline init: a small project to begin with.
import { mkdirSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { UsageError } from "./lib/exit.ts";
import { specifierFor } from "./lib/origin.ts";
import { print } from "./lib/output.ts";
import { readManifest } from "./lib/package.ts";
import { config } from "./starter/config.ts";
import { data } from "./starter/data.ts";
import { hook, hookTest } from "./starter/hook.ts";
import { gitignore, manifest, readme, tsconfig } from "./starter/project.ts";

/** What git and editors leave in a directory that is empty to its owner. */
const NOTHING = new Set([".git", ".DS_Store", ".idea", ".vscode"]);
const SCHEMA = "./node_modules/hookline/schema/hookline.schema.json";

export async function run(dir: string): Promise<void> {
  checkEmpty(dir);
  mkdirSync(dir, { recursive: true });
  // Of a link, the place itself: npm resolves paths from there.
  const place = realpathSync(dir);
  const name = packageName(basename(place));
  const versions = { hookline: specifierFor(place), jiti: readManifest().dependencies["jiti"]! };
  const files: Readonly<Record<string, string>> = {
    "README.md": readme(name),
    "package.json": manifest(name, versions),
    "tsconfig.json": tsconfig,
    ".gitignore": gitignore,
    "hookline.yaml": config(SCHEMA),
    "data.ts": data,
    "hooks/milestones.ts": hook,
    "hooks/milestones.test.ts": hookTest,
  };
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(place, dirname(file)), { recursive: true });
    // Never over something that came meanwhile.
    writeFileSync(join(place, file), text, { flag: "wx" });
  }
  const here = relative(process.cwd(), place);
  print(`${here || "."} has a project to begin with: ${Object.keys(files).join(", ")}\n`);
  print(
    `Next:\n${here ? `  cd ${/\s/.test(here) ? JSON.stringify(here) : here}\n` : ""}  npm install\n  npx hookline train\n  npm test`,
  );
}

function checkEmpty(dir: string): void {
  let names: string[];
  try {
    names = readdirSync(dir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return;
    if (code === "ENOTDIR") throw new UsageError(`${dir} is a file. Give a new or an empty directory.`);
    throw error;
  }
  const there = names.filter((name) => !NOTHING.has(name));
  if (there.length > 0) {
    const some = there.slice(0, 3).join(", ");
    throw new UsageError(
      `${dir} is not empty (${some}${there.length > 3 ? ", …" : ""}). Give a new or an empty directory.`,
    );
  }
}

/** What npm takes for a name. */
function packageName(text: string): string {
  const plain = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+|[._-]+$/g, "");
  // A package of that name cannot have hookline among its dependencies.
  return plain === "" || plain === "hookline" ? "hookline-project" : plain;
}
