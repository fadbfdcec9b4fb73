// One checkpoint directory on its own, wherever it was copied to: its manifest and what is wrong with its files.
import { CheckpointError } from "../core/errors.ts";
import { digestOf } from "./digest.ts";
import { newerVersion } from "./found.ts";
import { LARGEST_MANIFEST, MANIFEST, parseManifest } from "./manifest.ts";
import { damaged } from "../platform/file-errors.ts";
import { bytesOf, entryAt, nodePath, sha256OfFile } from "./read-weights-disk.ts";
import type { FileEntry, SavedCheckpoint } from "./store.ts";

/** What the manifest in a directory says; one that is missing, damaged or newer is an error. */
export async function manifestOf(dir: string): Promise<SavedCheckpoint> {
  const path = nodePath().join(dir, MANIFEST);
  const entry = await entryAt(dir);
  if (entry.kind === "directory" && !entry.names.includes(MANIFEST)) throw damaged(path, "it is missing");
  const file = await entryAt(path);
  if (file.kind !== "file") throw damaged(path, "it is not a plain file");
  if (file.bytes > LARGEST_MANIFEST) throw damaged(path, `it has ${file.bytes} bytes, too many for a manifest`);
  const text = parseManifest(new TextDecoder().decode(await bytesOf(path)));
  if (text.kind === "newer") throw newerVersion(dir, text.schema);
  if (text.kind === "bad") throw damaged(path, text.reason);
  if ((await digestOf(text.body)) !== text.digest) throw damaged(path, "its digest does not fit its contents");
  return { ...text.manifest, dir };
}

/** Throws when a file lies in a checkpoint, beside its manifest, and is not as that says. Other files are left alone. */
export async function verifyInCheckpoint(path: string): Promise<void> {
  const { basename, dirname } = nodePath();
  const dir = dirname(path);
  const entry = await entryAt(dir);
  if (entry.kind !== "directory" || !entry.names.includes(MANIFEST)) return;
  const manifest = await manifestOf(dir).catch((error: unknown) => {
    // Others name files so too: a directory without a run's state is no checkpoint.
    if (entry.names.includes("state.json")) throw error;
  });
  const expected = manifest?.files[basename(path)];
  if (expected) await verifyFile(path, expected, true);
}

/** Throws unless a file of a checkpoint is as its manifest says. */
export async function verifyFile(path: string, { bytes, sha256 }: FileEntry, digests: boolean): Promise<void> {
  const file = await entryAt(path).catch((error: unknown) => {
    throw error instanceof CheckpointError && error.reason === "it does not exist"
      ? damaged(path, "it is missing")
      : error;
  });
  if (file.kind !== "file") throw damaged(path, "it is not a plain file");
  if (file.bytes !== bytes) throw damaged(path, `it has ${file.bytes} bytes instead of ${bytes}`);
  if (digests && (await sha256OfFile(path)) !== sha256) throw damaged(path, "its SHA-256 is not the manifest's");
}
