// Checkpoints in memory, lost when the process ends.
import { joinBytes } from "../formats/tensor.ts";
import { CheckpointError } from "../../core/errors.ts";
import { NO_CHECKPOINT } from "../../core/saving.ts";
import { noSuchCheckpoint } from "./scan.ts";
import { digestOf } from "../manifest.ts";
import {
  type CheckpointFiles,
  type CheckpointInfo,
  type CheckpointStore,
  type FileParts,
  type LoadOptions,
  type LoadedCheckpoint,
  type SavedCheckpoint,
  CallQueue,
  byAge,
  chunksOf,
  lastRunFirst,
} from "../store.ts";
import { damaged } from "../../platform/file-errors.ts";
import { checkName } from "../../core/safe-name.ts";

interface Kept {
  readonly checkpoint: SavedCheckpoint;
  readonly files: CheckpointFiles;
}

/** Keeps checkpoints in memory, for tests and short runs. */
export function memoryStore(): CheckpointStore {
  const kept = new Map<string, Kept>();
  const calls = new CallQueue("memory");
  const newest = (): Kept | undefined => {
    const [first] = lastRunFirst([...kept.values()].map(({ checkpoint }) => checkpoint));
    return first && kept.get(first.name);
  };
  const find = (name: string | undefined): Kept => {
    const found = name === undefined ? newest() : kept.get(name);
    if (!found && name === undefined) throw new CheckpointError("memory", NO_CHECKPOINT, "Save one first.");
    if (!found) throw noSuchCheckpoint(name!, name!, [...kept.keys()]);
    return found;
  };
  const copyOf = ({ checkpoint, files }: Kept, file: string): Uint8Array => {
    if (Object.hasOwn(files, file)) return files[file]!.slice();
    const has = Object.keys(files).join(", ");
    throw new CheckpointError(
      `${checkpoint.name}/${file}`,
      "the checkpoint has no such file",
      `It has: ${has || "none"}.`,
    );
  };

  const save = async (name: string, files: FileParts, info: CheckpointInfo): Promise<SavedCheckpoint> => {
    checkName("a checkpoint's name", name);
    const copies = Object.entries(files).map(
      ([file, bytes]) => [checkName("a file's name in a checkpoint", file), joinBytes(chunksOf(bytes))] as const,
    );
    const entries = copies.map(async ([file, bytes]) => {
      return [file, { bytes: bytes.byteLength, sha256: await digestOf(bytes) }] as const;
    });
    const checkpoint = { ...structuredClone(info), name, files: Object.fromEntries(await Promise.all(entries)) };
    kept.set(name, { checkpoint, files: Object.fromEntries(copies) });
    return checkpoint;
  };
  const load = ({ name, files }: LoadOptions = {}): LoadedCheckpoint => {
    const found = find(name);
    const wanted = files ?? Object.keys(found.files);
    const copies = wanted.map((file) => [file, copyOf(found, file)] as const);
    return { checkpoint: found.checkpoint, files: Object.fromEntries(copies), skipped: [] };
  };

  const verify = async (name: string, wanted?: readonly string[]): Promise<void> => {
    const { checkpoint, files } = find(name);
    for (const file of wanted ?? Object.keys(files)) {
      if ((await digestOf(files[file]!)) === checkpoint.files[file]!.sha256) continue;
      throw damaged(`${name}/${file}`, "its SHA-256 is not the manifest's");
    }
  };

  return {
    save: (name, files, info) => calls.add(() => save(name, files, info)),
    list: () => calls.add(() => [...kept.values()].map(({ checkpoint }) => checkpoint).sort(byAge)),
    read: (name, file) => calls.add(() => copyOf(find(name), file)),
    load: (options) => calls.add(() => load(options)),
    verify: (name, files) => calls.add(() => verify(name, files)),
    remove: (names) => calls.add(() => names.forEach((name) => kept.delete(name))),
    sweep: () => calls.add(() => []),
    close: () => calls.close(),
  };
}
