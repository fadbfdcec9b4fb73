// Puts a file in place as a whole and durably: a crash leaves the old one or the new, never half of it.
import { builtin } from "../platform/builtin.ts";
import { nodePath, onDisk } from "./read-weights-disk.ts";

type Fs = ReturnType<typeof process.getBuiltinModule<"node:fs/promises">>;

const OWNER = "Writing a file of tensors";
/** What one call writes at most: systems refuse more than 2 GiB. */
const MOST_BYTES = 1 << 30;

/** Writes the parts beside `path`, syncs, and renames. */
export async function writeInPlace(path: string, parts: readonly Uint8Array[]): Promise<void> {
  const fs = builtin<Fs>(OWNER, "node:fs/promises");
  const beside = `${path}.${globalThis.crypto.randomUUID().slice(0, 13)}.tmp`;
  await onDisk(path, async () => {
    try {
      await writeParts(fs, beside, parts);
      await fs.rename(beside, path);
    } catch (error) {
      await fs.rm(beside, { force: true }).catch(() => undefined);
      throw error;
    }
    await syncFolder(fs, nodePath().dirname(path));
  });
}

async function writeParts(fs: Fs, path: string, parts: readonly Uint8Array[]): Promise<void> {
  const handle = await fs.open(path, "wx");
  try {
    for (const part of parts) {
      for (let done = 0; done < part.length;)
        done += (await handle.write(part, done, Math.min(part.length - done, MOST_BYTES))).bytesWritten;
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes the new name durable; where directories cannot be opened or synced, there is nothing more to be had. */
async function syncFolder(fs: Fs, path: string): Promise<void> {
  const handle = await fs.open(path, "r").catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}
