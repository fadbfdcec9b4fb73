// Where a run's checkpoints are: the store, opened when it is first needed, what lies in it, and who still needs what.
import type { CheckpointStore, LoadedCheckpoint } from "../../checkpoint/store.ts";
import { byAge } from "../../checkpoint/store.ts";
import { CheckpointError } from "../../core/errors.ts";
import { NO_CHECKPOINT, type BadCheckpoint, type SavedCheckpoint } from "../../core/saved.ts";

export interface PlaceOptions {
  readonly runDir?: string | undefined;
  readonly store?: CheckpointStore | undefined;
}

export class Place {
  readonly dir: string | undefined;
  readonly #given: CheckpointStore | undefined;
  readonly #warn: (message: string) => void;
  #store: CheckpointStore | undefined;
  #saved: SavedCheckpoint[] = [];
  /** Who needs a checkpoint no longer, by its name. */
  readonly #released = new Map<string, Set<string>>();
  #removing: Promise<void> = Promise.resolve();
  /** The run that writes here, once it has a name. */
  runId = "";
  /** The checkpoint from which it went on. */
  parent: string | undefined;

  constructor({ runDir, store }: PlaceOptions, warn: (message: string) => void) {
    this.dir = store || runDir === undefined ? undefined : `${runDir}/checkpoints`;
    this.#given = store;
    this.#warn = warn;
  }

  get exists(): boolean {
    return this.#given !== undefined || this.dir !== undefined;
  }

  async open(): Promise<CheckpointStore> {
    if (this.#store) return this.#store;
    if (!this.exists) {
      throw new CheckpointError(
        "checkpoints",
        "the trainer has no place for them",
        'Give it `runDir: "runs/digits"`, or a `store` such as memoryStore().',
      );
    }
    this.#store = this.#given ?? (await openDirectory(this.dir!));
    this.#saved = await this.#store.list();
    return this.#store;
  }

  /** Those of this run, oldest first. */
  list(): readonly SavedCheckpoint[] {
    return this.#saved.filter(({ runId }) => runId === this.runId);
  }

  /** Those of every run that has written here. */
  all(): readonly SavedCheckpoint[] {
    return this.#saved;
  }

  has(name: string): boolean {
    return this.#saved.some((saved) => saved.name === name);
  }

  /** A new run, or one that goes on from a checkpoint. */
  begin(from?: SavedCheckpoint): void {
    this.runId = from?.runId ?? globalThis.crypto.randomUUID().slice(0, 8);
    this.parent = from?.name;
    this.#released.clear();
  }

  /** What of earlier runs lies here would be in the way of a new one under the same name. */
  freeName(name: string): string {
    const taken = this.#saved.some((saved) => saved.name === name && saved.runId !== this.runId);
    return taken ? `${name}-${this.runId}` : name;
  }

  add(saved: SavedCheckpoint): void {
    this.#saved = [...this.#saved.filter(({ name }) => name !== saved.name), saved].sort(byAge);
    this.#released.delete(saved.name);
  }

  /** Removes, in the background, what nobody needs any longer. */
  release(hook: string, names: readonly string[]): void {
    for (const name of names) this.#released.set(name, new Set(this.#released.get(name)).add(hook));
    const needless = this.list().filter(({ name, by = [] }) => {
      const released = this.#released.get(name);
      return released !== undefined && by.every((owner) => released.has(owner));
    });
    if (needless.length === 0) return;
    const gone = new Set(needless.map(({ name }) => name));
    this.#saved = this.#saved.filter((saved) => !gone.has(saved.name));
    this.#removing = this.#removing
      .then(() => this.#store?.remove([...gone]))
      .catch((error: unknown) => this.#warn(`old checkpoints could not be removed: ${(error as Error).message}`));
  }

  /** The newest intact checkpoint of the run that wrote last, or the named one; undefined when there is none at all. */
  async load(name?: string): Promise<LoadedCheckpoint | undefined> {
    const store = await this.open();
    if (name !== undefined) return store.load({ name });
    const latest = this.#saved.toSorted((a, b) => b.time - a.time)[0];
    if (latest === undefined || this.#saved.every(({ runId }) => runId === latest.runId)) return this.#loadNewest(store);
    const skipped: BadCheckpoint[] = [];
    for (const saved of this.#saved.filter(({ runId }) => runId === latest.runId).toReversed()) {
      try {
        const loaded = await store.load({ name: saved.name });
        return { ...loaded, skipped };
      } catch (error) {
        if (!(error instanceof CheckpointError)) throw error;
        skipped.push({ name: saved.name, file: error.file, reason: error.reason });
      }
    }
    return this.#loadNewest(store);
  }

  async #loadNewest(store: CheckpointStore): Promise<LoadedCheckpoint | undefined> {
    try {
      return await store.load();
    } catch (error) {
      // An empty place is no damage: the run begins at its beginning.
      if (error instanceof CheckpointError && error.reason === NO_CHECKPOINT) return undefined;
      throw error;
    }
  }

  /** Waits for what is under way. A store that the user brought stays open. */
  async close(): Promise<void> {
    await this.#removing;
    const store = this.#store;
    this.#store = undefined;
    if (store !== this.#given) await store?.close();
  }
}

async function openDirectory(dir: string): Promise<CheckpointStore> {
  const { openDirectoryStore } = await import("../../checkpoint/directory-store.ts");
  return openDirectoryStore(dir);
}
