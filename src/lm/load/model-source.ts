// Where a model may be loaded from.
import { OptionError } from "../../core/errors.ts";
import { show } from "../../core/options.ts";
import { builtinOrNone } from "../../platform/builtin.ts";
import { chosenFiles, directoryFiles } from "./blob-folder.ts";
import type { ModelFiles } from "./model-files.ts";
import { nodeFolder } from "./node-folder.ts";
import { type OnProgress, urlFolder } from "./url-folder.ts";

/**
 * A folder's path, its URL, a directory handle of a browser (one that a user has opened, or of OPFS), files that a user has
 * chosen or dropped, or files of your own.
 */
export type ModelLocation = string | URL | FileSystemDirectoryHandle | readonly File[] | ModelFiles;

export async function modelFiles(from: ModelLocation, onProgress?: OnProgress): Promise<ModelFiles> {
  if (Array.isArray(from)) return chosenFiles(from as readonly File[]);
  if (typeof (from as Partial<FileSystemDirectoryHandle> | null)?.getFileHandle === "function")
    return directoryFiles(from as FileSystemDirectoryHandle);
  const isAddress = from instanceof URL || (typeof from === "string" && /^https?:/.test(from));
  // In a browser a text is an address too, relative to the page or the worker.
  if (isAddress || (typeof from === "string" && !builtinOrNone("node:fs"))) {
    const { location } = globalThis as { location?: { readonly href: string } };
    return urlFolder(new URL(String(from), location?.href), onProgress);
  }
  if (typeof from === "string" && from !== "") return nodeFolder(from);
  if (typeof (from as Partial<ModelFiles> | null)?.readText === "function") return from as ModelFiles;
  throw new OptionError(
    `loadModel: expected a path, a URL, a FileSystemDirectoryHandle, a list of Files or ModelFiles, got ${show(from)}.`,
  );
}
