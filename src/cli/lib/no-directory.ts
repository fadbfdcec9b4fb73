// The error for a directory that does not exist, with the neighbour that was probably meant.
import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { nearest } from "../../core/names.ts";
import { UsageError } from "./exit.ts";

/** @param more what to do, as a sentence */
export function noDirectory(dir: string, more = ""): UsageError {
  const near = nearest(basename(dir), neighbours(dirname(dir)));
  const hint = near === undefined ? "" : ` Did you mean \`${join(dirname(dir), near)}\`?`;
  return new UsageError(`There is no directory ${dir}.${hint}${more && ` ${more}`}`);
}

function neighbours(parent: string): string[] {
  try {
    return readdirSync(parent, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch {
    return [];
  }
}
