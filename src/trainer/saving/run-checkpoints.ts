// A run's checkpoints: the store, opened when it is first needed, the checkpoints in it, and which hooks still need them.
import type { Lock } from "../../runs/lock.ts";
import { type CheckpointStore, type LoadedCheckpoint, byAge } from "../../checkpoint/store.ts";
import { CheckpointError } from "../../core/errors.ts";
import { type HeldLock, NO_CHECKPOINT, type SavedCheckpoint } from "../../core/saving.ts";
import { builtin } from "../../platform/builtin.ts";
import { currentPlatform } from "../../platform/platform.ts";
import { CHECKPOINTS } from "../../runs/layout.ts";
import { Once } from "../once.ts";

export interface RunCheckpointsOptions {
  readonly runDir?: string | undefined;
  readonly store?: CheckpointStore | undefined;
}

export class RunCheckpoints {
  readonly dir: string | undefined;
  readonly #given: CheckpointStore | undefined;
  /** Its lock covers the whole run directory, even if the checkpoints are elsewhere. */
  readonly #lockDir: string | undefined;
  #lock: Lock | undefined;
  /** One object for each hook that holds the lock, which may be longer than a call. */
  readonly #holders = new Set<object>();
  readonly #warn: (message: string) => void;
  readonly #store = new Once(() => this.#openStore());
  /** Whether a call of the trainer is running. Between calls the store is only read, and other processes may write. */
  #inCall = false;
  /** Whether the store was opened for writing. */
  #wrote = false;
  #saved: SavedCheckpoint[] = [];
  #lastSerial = 0;
  /** Runs that this one branched off from, each with the step at which it did. */
  readonly #ancestors = new Map<string, number>();
  /** Hooks that no longer need a checkpoint, by its name. */
  readonly #released = new Map<string, Set<string>>();
  /** Hooks that need a checkpoint though they did not ask for it, by its name. */
  readonly #held = new Map<string, Set<string>>();
  #removing: Promise<void> = Promise.resolve();
  /** On other ranks, which only read: the checkpoints of the main rank. */
  #followed: readonly SavedCheckpoint[] | undefined;
  /** The run that saves here; empty before the first one begins. */
  runId = "";
  /** The checkpoint from which it was resumed. */
  parent: string | undefined;

  constructor({ runDir, store }: RunCheckpointsOptions, warn: (message: string) => void) {
    this.dir = store || runDir === undefined ? undefined : `${runDir}/${CHECKPOINTS}`;
    this.#given = store;
    this.#lockDir = runDir === undefined ? undefined : `${runDir}/${CHECKPOINTS}`;
    this.#warn = warn;
  }

  /** Whether there is a store or a directory. */
  get enabled(): boolean {
    return this.#given !== undefined || this.dir !== undefined;
  }

  /** A call begins: a store that was opened between calls is read-only, so it is opened again. */
  async enter(): Promise<void> {
    this.#inCall = true;
    await this.#closeStore();
  }

  /**
   * Takes the lock of the run directory, so that no other process writes there during this call. Undefined if there is no
   * directory, or if another rank writes to it.
   */
  async claim(): Promise<Lock | undefined> {
    if (!this.#inCall || this.#followed || currentPlatform().name !== "node") return undefined;
    return this.#takeLock();
  }

  /** The same until it is released: a hook's files may stay open between calls. */
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
    const { resolve } = builtin("The run's directory", "node:path");
    return (this.#lock ??= lockDirectory(resolve(this.#lockDir)));
  }

  /** Throws a LockLostError if another process has taken the run directory. */
  assertHeld(): void {
    this.#lock?.fence.check();
  }

  async open(): Promise<CheckpointStore> {
    return this.#store.now ?? this.#store.get();
  }

  async #openStore(): Promise<CheckpointStore> {
    if (!this.enabled) {
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

  /** The checkpoints of this run, and of the runs it branched off from up to that point, oldest first. */
  list(): readonly SavedCheckpoint[] {
    if (this.#followed) return this.#followed;
    return this.#saved.filter(({ runId, step }) => runId === this.runId || step <= (this.#ancestors.get(runId) ?? -1));
  }

  /** On other ranks than the main one: sets the list of checkpoints. Nothing is written from here. */
  follow(saved: readonly SavedCheckpoint[]): void {
    this.#followed = saved;
  }

  has(name: string): boolean {
    return this.#saved.some((saved) => saved.name === name);
  }

  /**
   * Begins a run. Resumed from its newest checkpoint, a run keeps its id; from an older one, a new run branches off.
   * Checkpoints past the branch point are kept but ignored.
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

  /** The name, or the name with a number if it belongs to another run's or other hooks' checkpoint. */
  freeName(name: string, by: readonly string[]): string {
    const there = this.#saved.find((saved) => saved.name === name);
    if (!there || (there.runId === this.runId && there.by?.every((owner) => by.includes(owner)))) return name;
    let n = 2;
    while (this.has(`${name.slice(0, 90)}-${n}`)) n++;
    return `${name.slice(0, 90)}-${n}`;
  }

  /** What the next save records: its number among all saves in this store, the run and its parent. */
  nextSave(): Pick<SavedCheckpoint, "serial" | "runId" | "parent"> {
    this.#lastSerial = 1 + Math.max(this.#lastSerial, ...this.#saved.map(({ serial = 0 }) => serial));
    const { runId, parent } = this;
    return { serial: this.#lastSerial, runId, ...(parent !== undefined && { parent }) };
  }

  add(saved: SavedCheckpoint): void {
    this.#saved = [...this.#saved.filter(({ name }) => name !== saved.name), saved].sort(byAge);
    this.#released.delete(saved.name);
  }

  holders(): Readonly<Record<string, readonly string[]>> {
    return Object.fromEntries([...this.#held].flatMap(([name, by]) => (by.size > 0 ? [[name, [...by]]] : [])));
  }

  hold(hook: string, names: readonly string[]): void {
    for (const name of names) this.#held.set(name, new Set(this.#held.get(name)).add(hook));
  }

  /** Removes, in the background, checkpoints that no hook needs any longer. */
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
    // A new checkpoint may have taken the name by then.
    const stillGone = (): string[] => [...gone].filter((name) => !this.has(name));
    this.#removing = this.#removing
      .then(() => (this.#inCall ? this.#store.now?.remove(stillGone()) : undefined))
      .catch((error: unknown) => {
        this.#warn(`old checkpoints could not be removed: ${(error as Error).message}`);
        // They still exist: the next release retries.
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
      // An empty store is no error: a new run begins.
      if (error instanceof CheckpointError && error.reason === NO_CHECKPOINT) return undefined;
      throw error;
    }
  }

  /** Waits for pending work. A store that the user gave stays open. */
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
    // Remove a directory that was made for the lock alone.
    if (!this.#wrote) await removeIfEmpty(this.#lockDir!);
  }

  async #closeStore(): Promise<void> {
    const store = await this.#store.take();
    if (store !== this.#given) await store?.close();
  }
}

async function removeIfEmpty(dir: string): Promise<void> {
  const { rmdir } = builtin("The run's directory", "node:fs/promises");
  await rmdir(dir).catch(() => undefined);
}

/** Read-only without a lock. */
async function openDirectory(dir: string, lock: Lock | undefined): Promise<CheckpointStore> {
  const { openDirectoryStore, openStore } = await import("../../checkpoint/stores/directory-store.ts");
  if (!lock) return openDirectoryStore(dir, { readOnly: true });
  const { resolve } = builtin("The run's directory", "node:path");
  // Not released with the store: hooks may still write to the run directory.
  return openStore(resolve(dir), { ...lock, release: () => undefined }, { digests: true, thread: true });
}
