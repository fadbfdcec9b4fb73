// The manifest of a checkpoint that lies in no directory, as a directory would have it: for those who copy one to a disk.
import { digestOf } from "./digest.ts";
import { manifestBody, sealManifest } from "./manifest.ts";
import type { SavedCheckpoint } from "./store.ts";

/** The same text as the one on the disk. */
export async function manifestText(saved: SavedCheckpoint): Promise<string> {
  const body = manifestBody(saved);
  return sealManifest(body, await digestOf(body));
}
