// Where the files of a model are: a path in Node, a URL, or a folder of a browser's own files (OPFS).
import { CheckpointError, OptionError } from "../core/errors.ts";
import { show } from "../core/options.ts";
import { builtinOrNone } from "../platform/builtin.ts";
import { joinBytes } from "../checkpoint/formats/tensor.ts";
import { readExported } from "../export/exported-folder.ts";
import type { SavedModel } from "../export/saved-model.ts";
import type { ReadFile } from "../export/model-file.ts";

/** A path, a URL of an exported folder, or the handle of a folder with the same files. */
export type PredictorSource = string | URL | FileSystemDirectoryHandle;

/** How much of a file has been fetched. */
export interface LoadProgress {
  readonly file: string;
  /** Bytes. */
  readonly loaded: number;
  /** Bytes in all; undefined if the server does not say. */
  readonly total: number | undefined;
}

interface Wanted {
  readonly checkpoint?: string | undefined;
  readonly name?: string | undefined;
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
}

/** Reads the files of a model. */
export async function readModel(from: PredictorSource, { checkpoint, name, onProgress }: Wanted): Promise<SavedModel> {
  if (isHandle(from)) return readExported(handleFiles(from), from.name);
  const address = addressOf(from);
  if (address !== undefined) return readExported(fetchedFiles(address, onProgress), address.href);
  if (typeof from !== "string" || from === "")
    throw new OptionError(`loadPredictor: expected a path, a URL or a FileSystemDirectoryHandle, got ${show(from)}.`);
  const { readSavedModel } = await import("../export/saved-model.ts");
  return readSavedModel(name === undefined ? from : `${from}/${name}`, checkpoint === undefined ? {} : { checkpoint });
}

const isHandle = (from: unknown): from is FileSystemDirectoryHandle =>
  typeof (from as FileSystemDirectoryHandle | null)?.getFileHandle === "function";

/** In a browser a text is an address too, relative to the page or the worker. */
function addressOf(from: unknown): URL | undefined {
  const isAddress = from instanceof URL || (typeof from === "string" && /^(?:https?|blob|data):/.test(from));
  if (!isAddress && (typeof from !== "string" || builtinOrNone("node:fs"))) return undefined;
  const { location } = globalThis as { location?: { readonly href: string } };
  const address = new URL(String(from), location?.href);
  // Names of files are relative to the folder, not to what is beside it.
  if (!address.pathname.endsWith("/")) address.pathname += "/";
  return address;
}

function handleFiles(folder: FileSystemDirectoryHandle): ReadFile {
  return async (name) => {
    try {
      const file = await (await folder.getFileHandle(name)).getFile();
      return new Uint8Array(await file.arrayBuffer());
    } catch (error) {
      if ((error as { name?: string }).name === "NotFoundError") return undefined;
      throw error;
    }
  };
}

function fetchedFiles(folder: URL, onProgress: Wanted["onProgress"]): ReadFile {
  return async (name) => {
    const address = new URL(name, folder);
    const response = await fetch(address).catch((cause: unknown) => {
      throw new CheckpointError(address.href, "it cannot be fetched", `Check the address and its CORS headers.`, {
        cause,
      });
    });
    if (response.status === 404) return undefined;
    if (!response.ok)
      throw new CheckpointError(address.href, `the server answered ${response.status}`, "Check the address.");
    return bodyOf(response, name, onProgress);
  };
}

async function bodyOf(response: Response, file: string, onProgress: Wanted["onProgress"]): Promise<Uint8Array> {
  if (!onProgress || !response.body) return new Uint8Array(await response.arrayBuffer());
  const length = Number(response.headers.get("content-length") ?? NaN);
  // The length is that of the compressed bytes.
  const isKnown = Number.isFinite(length) && !response.headers.has("content-encoding");
  const chunks: Uint8Array[] = [];
  let loaded = 0;
  const reader = response.body.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    chunks.push(next.value);
    loaded += next.value.length;
    onProgress({ file, loaded, total: isKnown ? length : undefined });
  }
  return joinBytes(chunks);
}
