// The pages that a reader has: README.md and everything in docs/.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./sources.ts";

/** By path from the root. */
export const PAGES: readonly string[] = [
  "README.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }).map((file) => `docs/${file}`),
].filter((name) => name.endsWith(".md"));

export const readPage = (name: string): string => readFileSync(join(root, name), "utf8");
