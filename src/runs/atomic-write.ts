// Replaces a file as a whole and durably: a reader, or a start after a crash, finds the old content or the new.
import { type Builtin, builtin } from "../platform/builtin.ts";

type Fs = Builtin<"node:fs/promises">;

/** One call writes no more than this: systems refuse more than 2 GiB. */
const MOST_BYTES = 1 << 30;

/**
 * Writes a file beside its name, syncs it and renames it. Makes its folder if there is none.
 * @param owner the caller, for the error outside Node
 */
export async function writeAtomically(
  file: string,
  data: string | readonly Uint8Array[],
  owner = "writeAtomically",
): Promise<void> {
  const fs = builtin(owner, "node:fs/promises");
  const folder = builtin(owner, "node:path").dirname(file);
  const parts = typeof data === "string" ? [new TextEncoder().encode(data)] : data;
  const beside = `${file}.${crypto.randomUUID()}.tmp`;
  await fs.mkdir(folder, { recursive: true });
  try {
    await writeNew(fs, beside, parts);
    await fs.rename(beside, file);
  } catch (error) {
    await fs.rm(beside, { force: true }).catch(() => undefined);
    throw error;
  }
  // Makes the new name durable. Where a directory cannot be opened or synced, nothing more can be done.
  const handle = await fs.open(folder, "r").catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

async function writeNew(fs: Fs, path: string, parts: readonly Uint8Array[]): Promise<void> {
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
