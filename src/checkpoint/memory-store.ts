// Checkpoints in memory, for tests and short runs: they end with the process.
import { CheckpointError } from "../core/errors.ts";
import { digestOf } from "./digest.ts";
import { checkName } from "./safe-name.ts";
import { byAge, type CheckpointStore, type SavedCheckpoint } from "./store.ts";

interface Kept {
  readonly checkpoint: SavedCheckpoint;
  readonly files: Readonly<Record<string, Uint8Array>>;
}

export function memoryStore(): CheckpointStore {
  const kept = new Map<string, Kept>();
  const newestFirst = (): Kept[] => [...kept.values()].sort((a, b) => byAge(b.checkpoint, a.checkpoint));
  const known = (): string => `There is: ${[...kept.keys()].join(", ") || "none"}.`;

  const find = (name: string | undefined): Kept => {
    const found = name === undefined ? newestFirst()[0] : kept.get(name);
    if (!found) throw new CheckpointError(name ?? "memory", "there is no such checkpoint", known());
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

  return {
    async save(name, files, info) {
      checkName("a checkpoint's name", name);
      const copies = Object.entries(files).map(
        ([file, bytes]) => [checkName("a file's name in a checkpoint", file), bytes.slice()] as const,
      );
      const entries = copies.map(async ([file, bytes]) => {
        return [file, { bytes: bytes.byteLength, sha256: await digestOf(bytes) }] as const;
      });
      const checkpoint = { ...structuredClone(info), name, files: Object.fromEntries(await Promise.all(entries)) };
      kept.set(name, { checkpoint, files: Object.fromEntries(copies) });
      return checkpoint;
    },
    list: async () => [...kept.values()].map(({ checkpoint }) => checkpoint).sort(byAge),
    read: async (name, file) => copyOf(find(name), file),
    async load({ name, files } = {}) {
      const found = find(name);
      const wanted = files ?? Object.keys(found.files);
      const copies = wanted.map((file) => [file, copyOf(found, file)] as const);
      return { checkpoint: found.checkpoint, files: Object.fromEntries(copies), skipped: [] };
    },
    async remove(names) {
      for (const name of names) kept.delete(name);
    },
    sweep: async () => [],
    close: async () => undefined,
  };
}
