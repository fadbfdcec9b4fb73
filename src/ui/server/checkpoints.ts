// The checkpoints of a run, from their manifests.
import { existsSync, lstatSync } from "node:fs";
import { CheckpointError } from "../../core/errors.ts";
import type { CheckpointStore, SavedCheckpoint } from "../../checkpoint/store.ts";
import { openDirectoryStore } from "../../checkpoint/stores/directory-store.ts";
import { CHECKPOINTS } from "../../runs/layout.ts";
import { livenessOfHello, readHello } from "../../runs/control/read-control.ts";
import type { CheckpointRow, ControlHello } from "../wire.ts";
import { gone } from "./answer.ts";

/** None when the run has no directory of checkpoints. */
export const listCheckpoints = async (dir: string): Promise<CheckpointRow[]> =>
  (await withStore(dir, async (store) => (await store.list()).map((saved) => rowOf(saved, holders(dir))))) ?? [];

/** What a training holds is let go when it ends. */
function holders(dir: string): Holders {
  const hello = readHello(dir);
  return hello && livenessOfHello(hello) !== "dead" ? (hello.held ?? {}) : {};
}

type Holders = NonNullable<ControlHello["held"]>;

/** Compares the digests of all its files. */
export async function verifyCheckpoint(dir: string, name: string): Promise<CheckpointRow> {
  const row = await withStore(dir, async (store) => {
    const found = (await store.list()).find((each) => each.name === name);
    if (!found) return undefined;
    try {
      await store.verify(name);
      return { ...rowOf(found, holders(dir)), verified: true };
    } catch (error) {
      if (error instanceof CheckpointError) return { ...rowOf(found, holders(dir)), verified: false };
      throw error;
    }
  });
  if (!row) throw gone("checkpoint of this name");
  return row;
}

async function withStore<T>(dir: string, use: (store: CheckpointStore) => Promise<T>): Promise<T | undefined> {
  const path = `${dir}/${CHECKPOINTS}`;
  if (!existsSync(path) || !lstatSync(path).isDirectory()) return undefined;
  const store = await openDirectoryStore(path, { readOnly: true, thread: false });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

const rowOf = (
  { name, step, reason, time, metrics, parent, by = [], runId, files }: SavedCheckpoint,
  held: Holders,
): CheckpointRow => ({
  name,
  step,
  reason,
  time,
  metrics,
  parent: parent ?? null,
  run: runId,
  bytes: Object.values(files).reduce((sum, { bytes }) => sum + bytes, 0),
  by,
  heldBy: Object.hasOwn(held, name) ? held[name]! : [],
});
