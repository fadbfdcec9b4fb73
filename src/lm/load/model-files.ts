// The folder of a model, wherever it is: on a disk, in a browser's storage, at a URL, or among files that a user has dropped.
import { CheckpointError } from "../../core/errors.ts";
import type { Json } from "../../core/options.ts";
import type { ByteSource } from "../../checkpoint/formats/tensor.ts";

/** A file whose parts can be read. */
export type RandomAccess = ByteSource;

/** The files of a model's folder. */
export interface ModelFiles {
  /** For messages. */
  readonly path: string;
  has(name: string): Promise<boolean>;
  /** The names in it; undefined where nobody can list them, as at a URL. */
  names(): Promise<readonly string[] | undefined>;
  /** The text of a file; one that is too large for a text is an error. */
  readText(name: string): Promise<string>;
  open(name: string): Promise<RandomAccess>;
}

/** A tokenizer.json of the largest vocabularies has some 35 MB. */
export const LARGEST_TEXT = 100_000_000;
/** No config is larger, and reading a longer one would take time for nothing. */
const LARGEST_CONFIG = 1_000_000;

/** Reads a whole file as UTF-8. */
export async function textOf(file: RandomAccess, path: string): Promise<string> {
  if (file.size > LARGEST_TEXT)
    throw new CheckpointError(path, `it has ${file.size} bytes, more than ${LARGEST_TEXT}`, "Is it the right file?");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.read(0, file.size));
  } catch (cause) {
    if (cause instanceof CheckpointError) throw cause;
    throw new CheckpointError(path, "it is not UTF-8 text", "The file is damaged: use another copy.", { cause });
  }
}

/** A JSON file that holds an object, such as config.json. */
export async function readJsonFile(files: ModelFiles, name: string): Promise<Readonly<Record<string, Json>>> {
  const path = `${files.path}/${name}`;
  const { size } = await files.open(name);
  if (size > LARGEST_CONFIG)
    throw new CheckpointError(path, `it has ${size} bytes, more than ${LARGEST_CONFIG}`, "Is it the right file?");
  const text = await files.readText(name);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const isPointer = text.startsWith("version https://git-lfs");
    const reason = isPointer ? "it is a pointer of Git LFS, not the file" : "it is not JSON";
    const fix = isPointer ? "Get the files: git lfs pull." : "The file is damaged: use another copy.";
    throw new CheckpointError(path, reason, fix, { cause });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, Json>;
  throw new CheckpointError(path, "it holds no JSON object", "The file is damaged: use another copy.");
}
