// A model's files as a browser has them: a directory that a user has opened, or one of the page's own (OPFS), or files that
// were chosen or dropped.
import { CheckpointError } from "../../core/errors.ts";
import { codeOf } from "../../platform/file-errors.ts";
import { type ModelFiles, type RandomAccess, textOf } from "./model-files.ts";

/** The part of a Blob that is used. */
export interface BlobLike {
  readonly size: number;
  slice(start: number, end: number): { arrayBuffer(): Promise<ArrayBuffer> };
}

/** Reads parts of a Blob, which may be larger than memory. */
const blobAccess = (blob: BlobLike): RandomAccess => ({
  size: blob.size,
  read: async (offset, length) => new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer()),
});

/** Files by name, from wherever `find` gets them. */
export function blobFolder(
  path: string,
  names: () => Promise<readonly string[] | undefined>,
  find: (name: string) => Promise<BlobLike | undefined>,
): ModelFiles {
  const open = async (name: string): Promise<RandomAccess> => {
    const blob = await find(name);
    if (!blob) throw new CheckpointError(`${path}/${name}`, "it is missing", "Give all files of the model.");
    return blobAccess(blob);
  };
  return {
    path,
    names,
    has: async (name) => (await find(name)) !== undefined,
    readText: async (name) => textOf(await open(name), `${path}/${name}`),
    open,
  };
}

/** Files that a user has chosen or dropped, by their names. */
export function chosenFiles(files: readonly File[]): ModelFiles {
  const byName = new Map(files.map((file) => [file.name, file]));
  return blobFolder(
    "the chosen files",
    async () => [...byName.keys()],
    async (name) => byName.get(name),
  );
}

/** What a directory handle lists; not in every version of the DOM's types. */
interface Listed {
  keys(): AsyncIterable<string>;
}

export function directoryFiles(handle: FileSystemDirectoryHandle): ModelFiles {
  const path = handle.name === "" ? "the browser's storage" : handle.name;
  return blobFolder(
    path,
    async () => {
      const names: string[] = [];
      for await (const name of (handle as unknown as Listed).keys()) names.push(name);
      return names.sort();
    },
    async (name) => {
      try {
        // A handle knows only what is directly in it.
        const folders = name.split("/");
        const file = folders.pop()!;
        let at = handle;
        for (const folder of folders) at = await at.getDirectoryHandle(folder);
        return await (await at.getFileHandle(file)).getFile();
      } catch (error) {
        // A directory of the name is no file either.
        if (codeOf(error) === "NotFoundError" || codeOf(error) === "TypeMismatchError") return undefined;
        throw error;
      }
    },
  );
}
