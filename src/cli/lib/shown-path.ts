// Paths as a person would type them from here.
import { relative, resolve, sep } from "node:path";

export function shownPath(path: string): string {
  const way = relative(process.cwd(), resolve(path)) || ".";
  return way.startsWith("..") ? resolve(path) : way;
}

/** A text with paths in it. */
export const shortPaths = (text: string): string => text.replaceAll(`${process.cwd()}${sep}`, "");
