// A model's folder on a disk.
import { OpenFiles, entryAt, nodePath } from "../../checkpoint/weights/files.ts";
import { CheckpointError } from "../../core/errors.ts";
import { type ModelFiles, type RandomAccess, textOf } from "./model-files.ts";

/** The files of a folder. Links are followed: the caches of Hugging Face are made of them. */
export async function nodeFolder(given: string): Promise<ModelFiles> {
  const path = nodePath();
  const folder = path.resolve(given);
  const entry = await entryAt(folder);
  if (entry.kind === "file") throw notAFolder(given);
  const { names } = entry;
  const open = (name: string): Promise<RandomAccess> => openAt(path.join(folder, name));
  return {
    path: given,
    // A folder that is in it is looked into when it is asked for.
    async has(name) {
      const [first, ...rest] = name.split("/");
      if (rest.length === 0 || !names.includes(first!)) return names.includes(name);
      const inner = await entryAt(path.join(folder, first!));
      return inner.kind === "directory" && inner.names.includes(rest.join("/"));
    },
    names: async () => names,
    readText: async (name) => textOf(await open(name), path.join(given, name)),
    open,
  };
}

/** Opened for each read, so that nothing has to be closed. A file that changed meanwhile is an error. */
async function openAt(path: string): Promise<RandomAccess> {
  const size = await withFile(path, async (file) => file.size);
  return {
    size,
    read: (offset, length) =>
      withFile(path, (file) => {
        if (file.size === size) return file.read(offset, length);
        throw new CheckpointError(path, "it has changed while it was read", "Load the model again.");
      }),
  };
}

async function withFile<T>(path: string, use: (file: RandomAccess) => Promise<T>): Promise<T> {
  const files = new OpenFiles();
  try {
    return await use(await files.open(path));
  } finally {
    await files.close();
  }
}

function notAFolder(path: string): CheckpointError {
  const isGguf = path.endsWith(".gguf");
  return new CheckpointError(
    path,
    isGguf ? "it is a GGUF file, which hookline/lm does not read" : "it is a file",
    "Give the folder of a model as transformers saves it: config.json with model.safetensors.",
  );
}
