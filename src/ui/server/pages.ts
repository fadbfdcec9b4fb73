// The files of the page: a fixed list, read once.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { codeOf } from "../../platform/file-errors.ts";
import { type Answer, bytes, gone, Refusal } from "./answer.ts";

/** By name in the address. */
const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "": ["index.html", "text/html; charset=utf-8"],
  "app.js": ["app.js", "text/javascript; charset=utf-8"],
  "app.css": ["app.css", "text/css; charset=utf-8"],
  "icon.svg": ["icon.svg", "image/svg+xml"],
};

export const PAGE_PATHS: readonly string[] = Object.keys(FILES);

/** The compiled server is in the folder below that of the compiled page. */
export const BUILT_PAGES: string = fileURLToPath(new URL("../", import.meta.url));

/** Answers the request for a file of the page. */
export function pageFile(folder: string, path: string): Answer {
  const [file, type] = Object.hasOwn(FILES, path) ? FILES[path]! : [];
  if (file === undefined || type === undefined) throw gone("page of this address");
  try {
    return bytes(readFileSync(`${folder}/${file}`), type);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    throw new Refusal(404, "gone", "The page has not been built.", {
      hint: "Run `npm run build` in hookline's source.",
    });
  }
}
