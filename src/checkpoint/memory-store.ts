// Checkpoints in memory, for tests and short runs: they end with the process.
import { CheckpointError } from "../core/errors.ts";
import { NO_CHECKPOINT } from "../core/saving.ts";
import { noSuchCheckpoint } from "./found.ts";
import { digestOf } from "./digest.ts";
import { joined } from "./parts.ts";
import { damaged } from "../platform/file-errors.ts";
import { checkName } from "../core/safe-name.ts";
import {
  byAge,
  lastRunFirst,
  type CheckpointFiles,
  type CheckpointInfo,
  type CheckpointStore,
  type FileParts,
  type LoadedCheckpoint,
  type LoadOptions,
  type SavedCheckpoint,
} from "./store.ts";
import { Turns } from "./turns.ts";

interface Kept {
  readonly checkpoint: SavedCheckpoint;
  readonly files: CheckpointFiles;
}

/** Keeps checkpoints in memory, for tests and short runs. */
export function memoryStore(): CheckpointStore {
  const kept = new Map<string, Kept>();
  const turns = new Turns("memory");
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
      ([file, bytes]) => [checkName("a file's name in a checkpoint", file), joined(bytes)] as const,
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
    save: (name, files, info) => turns.take(() => save(name, files, info)),
    list: () => turns.take(() => [...kept.values()].map(({ checkpoint }) => checkpoint).sort(byAge)),
    read: (name, file) => turns.take(() => copyOf(find(name), file)),
    load: (options) => turns.take(() => load(options)),
    verify: (name, files) => turns.take(() => verify(name, files)),
    remove: (names) => turns.take(() => names.forEach((name) => kept.delete(name))),
    sweep: () => turns.take(() => []),
    close: () => turns.close(),
  };
}
