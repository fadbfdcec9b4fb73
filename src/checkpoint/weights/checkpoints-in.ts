// The checkpoints in a directory, newest first.
import { CheckpointError } from "../../core/errors.ts";
import { MANIFEST } from "../manifest.ts";
import { type BadCheckpoint, lastRunFirst, type SavedCheckpoint } from "../store.ts";
import { openDirectoryStore } from "../stores/directory-store.ts";
import { entryAt, nodePath } from "./files.ts";
import { ENDINGS } from "./locate.ts";

export interface Newest {
  /** Newest first. */
  readonly checkpoints: readonly SavedCheckpoint[];
  /** Damaged ones that are newer than the first. */
  readonly skipped: readonly BadCheckpoint[];
}

/** The checkpoints in a directory whose files have the right sizes. It is an error if there are none. */
export async function checkpointsIn(root: string): Promise<Newest> {
  const { names } = (await entryAt(root)) as { names?: readonly string[] };
  const { join } = nodePath();
  const inside = await Promise.all((names ?? []).map((name) => entryAt(join(root, name)).catch(() => undefined)));
  if (!inside.some((each) => each?.kind === "directory" && each.names.includes(MANIFEST))) {
    const wayOut = `Give a run, a checkpoint, or a file that ends in ${ENDINGS}.`;
    throw new NothingHere(root, "it has no checkpoints in it", wayOut);
  }
  const store = await openDirectoryStore(root, { readOnly: true, thread: false });
  try {
    // Without any file it reads manifests and sizes only, and returns what it skipped.
    const { skipped } = await store.load({ files: [] });
    return { checkpoints: lastRunFirst(await store.list()), skipped };
  } finally {
    await store.close();
  }
}

/** There is no checkpoint at all, rather than a damaged one. */
export class NothingHere extends CheckpointError {}
