// A path as a person would type it from here.
import { relative, resolve } from "node:path";

export function shownPath(path: string): string {
  const way = relative(process.cwd(), resolve(path)) || ".";
  return way.startsWith("..") ? resolve(path) : way;
}
