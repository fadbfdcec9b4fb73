// hookline init: a small project to begin with.
import { existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { UsageError } from "../errors.ts";
import { print } from "../output.ts";
import { packageUrl, readManifest } from "../package.ts";
import { config, data, gitignore, hook, hookTest, manifest, readme, tsconfig } from "./starter.ts";
import { fileURLToPath } from "node:url";
import type { CommandDescription } from "../command.ts";

export const command: CommandDescription = {
  examples: `init demo
init .`,
  flags: (program) => program.argument("<dir>", "a new or an empty directory"),
};

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

interface Lock {
  readonly packages?: Readonly<Record<string, { readonly resolved?: string }>>;
}

/** What a package.json in `project` says to get the same copy. */
export function specifierFor(project: string, root: string = dirname(fileURLToPath(packageUrl))): string {
  const version = `^${readManifest().version}`;
  const modules = dirname(root);
  // Not installed at all: a checkout, or a link to one.
  if (basename(modules) !== "node_modules") return fileSpecifier(project, root);
  const resolved = resolvedIn(join(modules, ".package-lock.json"));
  if (resolved === undefined || isFromRegistry(resolved)) return version;
  if (!resolved.startsWith("file:")) return resolved;
  // A lock's paths are relative to the directory that node_modules lies in.
  const file = resolve(dirname(modules), resolved.slice("file:".length));
  return existsSync(file) ? fileSpecifier(project, file) : version;
}

function resolvedIn(lockFile: string): string | undefined {
  try {
    const { packages } = JSON.parse(readFileSync(lockFile, "utf8")) as Lock;
    return packages?.["node_modules/hookline"]?.resolved;
  } catch {
    // Another package manager, or none.
    return undefined;
  }
}

const isFromRegistry = (resolved: string): boolean => /^https?:.*\/hookline\/-\/hookline-[^/]*\.tgz$/.test(resolved);

const fileSpecifier = (project: string, path: string): string => `file:${relative(project, path).replaceAll(sep, "/")}`;
