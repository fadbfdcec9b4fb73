// Where a run's checkpoints are: the store, opened when it is first needed, what lies in it, and who still needs what.
import type { CheckpointStore, LoadedCheckpoint } from "../../checkpoint/store.ts";
import { byAge } from "../../checkpoint/store.ts";
import { CheckpointError } from "../../core/errors.ts";
import { NO_CHECKPOINT, type SavedCheckpoint } from "../../core/saved.ts";
import { Once } from "../once.ts";

export interface PlaceOptions {
  readonly runDir?: string | undefined;
  readonly store?: CheckpointStore | undefined;
}

export class Place {
  readonly dir: string | undefined;
  readonly #given: CheckpointStore | undefined;
  readonly #warn: (message: string) => void;
  readonly #store = new Once(() => this.#openStore());
  /** Is a call of the trainer running? Otherwise this place is only read, and others may write to it. */
  #inCall = false;
  #saved: SavedCheckpoint[] = [];
  /** Runs that this one branched off from, each with the step up to which it did. */
  readonly #ancestors = new Map<string, number>();
  /** Who needs a checkpoint no longer, by its name. */
  readonly #released = new Map<string, Set<string>>();
  /** Who needs one though it did not ask for it, by the checkpoint's name. */
  readonly #held = new Map<string, Set<string>>();
  #removing: Promise<void> = Promise.resolve();
  /** What the main process has saved, in another one, which only reads. */
  #followed: readonly SavedCheckpoint[] | undefined;
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

  /** A call begins: what was opened to read between calls cannot be written to. */
  async enter(): Promise<void> {
    this.#inCall = true;
    await this.#closeStore();
  }

  open(): Promise<CheckpointStore> {
    return this.#store.get();
  }

  async #openStore(): Promise<CheckpointStore> {
    if (!this.exists) {
      throw new CheckpointError(
        "checkpoints",
        "the trainer has no place for them",
        'Give it `runDir: "runs/digits"`, or a `store` such as memoryStore().',
      );
    }
    const store = this.#given ?? (await openDirectory(this.dir!, !this.#inCall || this.#followed !== undefined));
    try {
      this.#saved = await store.list();
      return store;
    } catch (error) {
      if (store !== this.#given) await store.close();
      throw error;
    }
  }

  /** Those of this run, and of the runs it goes on from up to where it does, oldest first. */
  list(): readonly SavedCheckpoint[] {
    if (this.#followed) return this.#followed;
    return this.#saved.filter(({ runId, step }) => runId === this.runId || step <= (this.#ancestors.get(runId) ?? -1));
  }

  /** This is not the main process: these are that one's checkpoints, and nothing is written from here. */
  follow(saved: readonly SavedCheckpoint[]): void {
    this.#followed = saved;
  }

  /** Those of every run that has written here. */
  all(): readonly SavedCheckpoint[] {
    return this.#saved;
  }

  has(name: string): boolean {
    return this.#saved.some((saved) => saved.name === name);
  }

  /**
   * A new run, or one that goes on from a checkpoint: the same run from its newest one, another one that branches off
   * from an older one. What was saved beyond the branch stays, and is none of its business.
   */
  begin(from?: SavedCheckpoint): void {
    const newest = from && this.#saved.findLast(({ runId }) => runId === from.runId);
    this.runId = from && newest?.name === from.name ? from.runId : globalThis.crypto.randomUUID().slice(0, 8);
    this.parent = from?.name;
    this.#released.clear();
    this.#held.clear();
    this.#ancestors.clear();
    for (let at = from; at; at = this.#parentOf(at)) {
      if (at.runId !== this.runId) this.#ancestors.set(at.runId, at.step);
    }
  }

  /** The checkpoint that the run of this one branched off from. */
  #parentOf({ parent, runId }: SavedCheckpoint): SavedCheckpoint | undefined {
    const found = this.#saved.find(({ name }) => name === parent);
    return found && found.runId !== runId && !this.#ancestors.has(found.runId) ? found : undefined;
  }

  /** A name that no checkpoint has but one that belongs to these hooks and this run, which is then replaced. */
  freeName(name: string, by: readonly string[]): string {
    const there = this.#saved.find((saved) => saved.name === name);
    if (!there || (there.runId === this.runId && there.by?.every((owner) => by.includes(owner)))) return name;
    let n = 2;
    while (this.has(`${name.slice(0, 90)}-${n}`)) n++;
    return `${name.slice(0, 90)}-${n}`;
  }

  add(saved: SavedCheckpoint): void {
    this.#saved = [...this.#saved.filter(({ name }) => name !== saved.name), saved].sort(byAge);
    this.#released.delete(saved.name);
  }

  hold(hook: string, names: readonly string[]): void {
    for (const name of names) this.#held.set(name, new Set(this.#held.get(name)).add(hook));
  }

  /** Removes, in the background, what nobody needs any longer. */
  release(hook: string, names: readonly string[]): void {
    for (const name of names) {
      this.#held.get(name)?.delete(hook);
      this.#released.set(name, new Set(this.#released.get(name)).add(hook));
    }
    const needless = this.list().filter(({ name, by = [] }) => {
      const released = this.#released.get(name);
      const isHeld = (this.#held.get(name)?.size ?? 0) > 0;
      return released !== undefined && !isHeld && by.every((owner) => released.has(owner));
    });
    if (needless.length === 0) return;
    const gone = new Set(needless.map(({ name }) => name));
    this.#saved = this.#saved.filter((saved) => !gone.has(saved.name));
    // By its turn a new one may have taken the name.
    const stillGone = (): string[] => [...gone].filter((name) => !this.has(name));
    this.#removing = this.#removing
      .then(() => (this.#inCall ? this.#store.now?.remove(stillGone()) : undefined))
      .catch((error: unknown) => {
        this.#warn(`old checkpoints could not be removed: ${(error as Error).message}`);
        // Still there: the next release tries again.
        for (const saved of needless) if (!this.has(saved.name)) this.#saved = [...this.#saved, saved].sort(byAge);
      });
  }

  /** The newest intact checkpoint of the run that wrote last, or the named one; undefined when there is none at all. */
  async load(name?: string): Promise<LoadedCheckpoint | undefined> {
    const store = await this.open();
    if (name !== undefined) return store.load({ name });
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
    this.#inCall = false;
    await this.#closeStore();
  }

  async #closeStore(): Promise<void> {
    const store = await this.#store.take();
    if (store !== this.#given) await store?.close();
  }
}

async function openDirectory(dir: string, readOnly: boolean): Promise<CheckpointStore> {
  const { openDirectoryStore } = await import("../../checkpoint/directory-store.ts");
  return openDirectoryStore(dir, { readOnly });
}
