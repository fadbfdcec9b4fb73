// Where npm finds this very copy of hookline again: by its version, or at the file or folder that it was installed from.
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { packageUrl, readManifest } from "./package.ts";

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
