// Where a run's checkpoints are: the store, opened when it is first needed, what lies in it, and who still needs what.
import type { Lock } from "../../runs/lock.ts";
import { type CheckpointStore, type LoadedCheckpoint, byAge } from "../../checkpoint/store.ts";
import { CheckpointError } from "../../core/errors.ts";
import { type HeldLock, NO_CHECKPOINT, type SavedCheckpoint } from "../../core/saving.ts";
import { builtin } from "../../platform/builtin.ts";
import { currentPlatform } from "../../platform/platform.ts";
import { Once } from "../once.ts";
import { CHECKPOINTS } from "../../runs/layout.ts";

export interface PlaceOptions {
  readonly runDir?: string | undefined;
  readonly store?: CheckpointStore | undefined;
}

export class Place {
  readonly dir: string | undefined;
  readonly #given: CheckpointStore | undefined;
  /** The directory whose lock covers everything in the run's directory, wherever the checkpoints are. */
  readonly #lockDir: string | undefined;
  #lock: Lock | undefined;
  /** Hooks that write to the directory, also between calls. */
  readonly #holders = new Set<object>();
  readonly #warn: (message: string) => void;
  readonly #store = new Once(() => this.#openStore());
  /** Is a call of the trainer running? Otherwise this place is only read, and others may write to it. */
  #inCall = false;
  /** Whether the store was opened to be written to. */
  #wrote = false;
  #saved: SavedCheckpoint[] = [];
  #lastSerial = 0;
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
    this.dir = store || runDir === undefined ? undefined : `${runDir}/${CHECKPOINTS}`;
    this.#given = store;
    this.#lockDir = runDir === undefined ? undefined : `${runDir}/${CHECKPOINTS}`;
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

  /**
   * Takes the lock of the run's directory, so that no other process writes there during this call. Undefined where there
   * is no directory, or where another process of the group writes to it.
   */
  async claim(): Promise<Lock | undefined> {
    if (!this.#inCall || this.#followed || currentPlatform().name !== "node") return undefined;
    return this.#takeLock();
  }

  /** The same until it is released: a hook's files may stay open from one call to the next. */
  async holdLock(): Promise<HeldLock | undefined> {
    const mark = (await this.claim())?.fence.mark;
    if (!mark) return undefined;
    const holder = {};
    this.#holders.add(holder);
    const release = (): void => {
      this.#holders.delete(holder);
      if (!this.#inCall) void this.#releaseLock();
    };
    return { ...mark, release };
  }

  async #takeLock(): Promise<Lock | undefined> {
    if (this.#lockDir === undefined) return undefined;
    const { lockDirectory } = await import("../../runs/lock.ts");
    const { resolve } = builtin<{ resolve(path: string): string }>("The run's directory", "node:path");
    return (this.#lock ??= lockDirectory(resolve(this.#lockDir)));
  }

  /** Throws a LockLostError when another process has taken the run's directory. */
  assertHeld(): void {
    this.#lock?.fence.check();
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
    const readOnly = !this.#inCall || this.#followed !== undefined;
    const store = this.#given ?? (await openDirectory(this.dir!, readOnly ? undefined : await this.#takeLock()));
    this.#wrote ||= !readOnly;
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

  /** The number of the next save in this place, whichever run it is. */
  nextSerial(): number {
    return (this.#lastSerial = 1 + Math.max(this.#lastSerial, ...this.#saved.map(({ serial = 0 }) => serial)));
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
    await this.#releaseLock();
  }

  async #releaseLock(): Promise<void> {
    const lock = this.#lock;
    if (!lock || this.#holders.size > 0) return;
    this.#lock = undefined;
    lock.release();
    // A folder that was made for the lock alone goes with it; one with checkpoints in it stays.
    if (!this.#wrote) await removeIfEmpty(this.#lockDir!);
  }

  async #closeStore(): Promise<void> {
    const store = await this.#store.take();
    if (store !== this.#given) await store?.close();
  }
}

async function removeIfEmpty(dir: string): Promise<void> {
  const { rmdir } = builtin<{ rmdir(dir: string): Promise<void> }>("The run's directory", "node:fs/promises");
  await rmdir(dir).catch(() => undefined);
}

/** Only to be read, where there is no lock. */
async function openDirectory(dir: string, lock: Lock | undefined): Promise<CheckpointStore> {
  const { openDirectoryStore, openStore } = await import("../../checkpoint/stores/directory-store.ts");
  if (!lock) return openDirectoryStore(dir, { readOnly: true });
  const { resolve } = builtin<{ resolve(path: string): string }>("The run's directory", "node:path");
  // The lock outlives the store where hooks write to the run's directory.
  return openStore(resolve(dir), { ...lock, release: () => undefined }, { digests: true, thread: true });
}
