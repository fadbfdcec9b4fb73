// Saves a run while it trains: takes a snapshot between two steps, and writes one snapshot at a time in the background.
import { attach, CheckpointError, HookError, HooklineError, isLockLost } from "../../core/errors.ts";
import type { BuiltinEvent } from "../../core/events.ts";
import { checkName } from "../../core/safe-name.ts";
import { VERSION, currentPlatform } from "../../platform/platform.ts";
import type { Checkpoints, FailedSave, ResumeReport, SavedCheckpoint, SaveRequest, Saving } from "../../core/saving.ts";
import type { toFiles, toLentFiles } from "./checkpoint-files.ts";
import type { RunCheckpoints } from "./run-checkpoints.ts";
import {
  type Position,
  type Snapshot,
  type SnapshotMemory,
  type TrainingState,
  positionOf,
  type takeSnapshot,
} from "./snapshot.ts";

/** How a save ended, kept until the next boundary reports it to the hooks. */
type Outcome = { readonly saved: SavedCheckpoint } | { readonly failed: FailedSave };

/** The code that saves, and memory for snapshots. */
interface SavingCode {
  readonly takeSnapshot: typeof takeSnapshot;
  readonly toFiles: typeof toFiles;
  readonly toLentFiles: typeof toLentFiles;
  readonly memory: SnapshotMemory;
}

export interface SaverOptions {
  /** `sync` waits for the disk at the boundary of the save itself. */
  readonly save: "async" | "sync";
  readonly maxRollbacks: number;
  /** Milliseconds that a hook may take in an emergency. */
  readonly deadline: number;
}

/** A save after a failure. */
interface Emergency {
  /** Where the run stood before the step that failed; undefined if the failure was between two steps. */
  readonly position: Position | undefined;
  readonly failure: unknown;
}

export class Saver {
  readonly #training: TrainingState;
  readonly #checkpoints: RunCheckpoints;
  readonly #options: SaverOptions;
  readonly #warn: (message: string) => void;
  #code: SavingCode | undefined;
  #inFlight: Promise<void> | undefined;
  readonly #outcomes: Outcome[] = [];
  /** Where the run stood before the current step; undefined between steps. */
  #before: Position | undefined;
  /** Whether the state is consistent, as it is between steps. Before training begins there is none to save. */
  #consistent = false;
  /** The key of the state that was saved last: an unchanged state needs no second checkpoint. */
  #savedKey = "";
  #described = false;

  constructor(
    training: TrainingState,
    checkpoints: RunCheckpoints,
    options: SaverOptions,
    warn: (message: string) => void,
  ) {
    this.#training = training;
    this.#checkpoints = checkpoints;
    this.#options = options;
    this.#warn = warn;
  }

  get pending(): boolean {
    const { save, rollback } = this.#training.run.requests;
    return save !== undefined || rollback !== undefined || this.#outcomes.length > 0;
  }

  async begin(): Promise<void> {
    if (this.#training.run.requests.saveAtEnd) await this.#checkpoints.open();
    this.#consistent = true;
  }

  markInconsistent(): void {
    this.#before = this.#training.run.requests.saveAtEnd ? positionOf(this.#training) : undefined;
    this.#consistent = false;
  }

  markConsistent(): void {
    this.#before = undefined;
    this.#consistent = true;
  }

  /** A run begins or is resumed. If it is resumed from its own checkpoints, its state is saved already. */
  reset(loaded?: ResumeReport): void {
    this.#before = undefined;
    this.#consistent = false;
    this.#described = false;
    const isSaved = loaded?.checkpoint && this.#checkpoints.has(loaded.checkpoint.name);
    this.#savedKey = isSaved ? keyOf(positionOf(this.#training)) : "";
  }

  /** Resumes from a checkpoint, or starts a new run if `from` is `auto` and there is none. */
  async resume(from: string): Promise<void> {
    const { resumeRun } = await import("./restore.ts");
    await resumeRun(this.#training, this.#checkpoints, from, {
      warn: this.#warn,
      restored: (report) => this.reset(report),
    });
  }

  async rollback(): Promise<void> {
    const { run } = this.#training;
    const request = run.requests.rollback;
    if (!request) return;
    run.requests.rollback = undefined;
    await this.#inFlight;
    const { rollBack } = await import("./restore.ts");
    await rollBack(this.#training, this.#checkpoints, request, this.#options.maxRollbacks);
    this.markConsistent();
  }

  async boundary(): Promise<void> {
    await this.#announce();
    const { requests } = this.#training.run;
    const request = requests.save;
    requests.save = undefined;
    if (request) await this.#save(request);
    if (this.#options.save === "sync") await this.#settle();
  }

  async end(): Promise<void> {
    const { run } = this.#training;
    // Even a run that never saves must not succeed after another process has taken its directory.
    this.#checkpoints.assertHeld();
    await this.boundary();
    await this.#settle();
    const request = run.requests.saveAtEnd;
    const reason = run.status === "interrupted" ? "emergency" : "final";
    if (request && keyOf(positionOf(this.#training)) !== this.#savedKey) await this.#save({ ...request, reason });
    await this.#settle();
    // A hook may retry a save that failed, as often as it wants.
    while (run.requests.save) {
      await this.boundary();
      await this.#settle();
    }
  }

  /** Saves the last consistent state after a failure, if a hook asked for it. Further errors are attached to the failure. */
  async emergency(failure: unknown): Promise<void> {
    const { run } = this.#training;
    const request = run.requests.saveAtEnd;
    run.requests.save = undefined;
    // The directory belongs to another process now.
    if (isLockLost(failure)) return;
    try {
      await this.#settle(failure);
      const position = this.#before ?? (this.#consistent ? positionOf(this.#training) : undefined);
      // Before the first step nothing is trained, and the model itself may be the cause of the failure.
      const isWorthIt = position !== undefined && position.clock.now.step > 0;
      if (request && isWorthIt && keyOf(position) !== this.#savedKey)
        await this.#save({ ...request, reason: "emergency" }, { position: this.#before, failure });
      await this.#settle(failure);
    } catch (error) {
      // An error of ours says what happened; any other is the engine's, whose program may have consumed its inputs.
      const cause = error instanceof HooklineError ? "" : "The failed step may have destroyed the parameters. ";
      const lost = new CheckpointError(
        this.#checkpoints.dir ?? "checkpoints",
        `there is no emergency checkpoint of step ${(this.#before?.clock ?? run.clock).now.step}: ${(error as Error).message}`,
        `${cause}Earlier checkpoints are as they were.`,
        { cause: error },
      );
      attach(failure, [lost]);
      this.#warn(lost.message);
    }
  }

  /** The run's checkpoints as `ctx.checkpoints` of one hook. */
  view(hook: string): Checkpoints {
    const checkpoints = this.#checkpoints;
    return {
      enabled: checkpoints.enabled,
      dir: checkpoints.dir,
      runId: checkpoints.runId,
      list: () => checkpoints.list(),
      read: async (name, file) => (await checkpoints.open()).read(name, file),
      weights: async (name, options = {}) => {
        const { weightsOf } = await import("./checkpoint-files.ts");
        return weightsOf(await checkpoints.open(), name, options, this.#training.optimizers());
      },
      lock: () => checkpoints.holdLock(),
      holders: () => checkpoints.holders(),
      hold: (names) => checkpoints.hold(hook, names),
      release: (names) => checkpoints.release(hook, names),
    };
  }

  async #save(request: SaveRequest, emergency?: Emergency): Promise<void> {
    await this.#checkpoints.open();
    await this.#settle(emergency?.failure);
    const { takeSnapshot } = await this.#loadCode();
    const snapshot = await takeSnapshot(this.#training, emergency?.position);
    const { step, epoch, metrics, tensors } = snapshot;
    const { reason, by } = request;
    const { run } = this.#training;
    const name = this.#checkpoints.freeName(nameOf(request, snapshot), by);
    run.saving = { name, reason, step, epoch, metrics, tensors, files: {} };
    if (!(await this.#allowed(snapshot, emergency?.failure))) return;
    const { saving } = run;
    const key = keyOf(snapshot.position);
    this.#inFlight = this.#write(snapshot, saving, request).then(
      (saved) => {
        this.#savedKey = key;
        this.#outcomes.push({ saved });
        return this.#describe();
      },
      (error: Error) => void this.#outcomes.push({ failed: { name: saving.name, reason, step, by, error } }),
    );
  }

  /** Writes model.json with the first checkpoint of a run, once that checkpoint is safe. */
  async #describe(): Promise<void> {
    const { problem, initial, runDir } = this.#training.model();
    if (this.#described || runDir === undefined || currentPlatform().name !== "node") return;
    try {
      const { describeModel } = await import("./model-description.ts");
      this.#checkpoints.assertHeld();
      this.#described = await describeModel({ runDir, problem, initial, run: this.#training.run });
    } catch (error) {
      this.#warn(`model.json was not written: ${(error as Error).message}`);
    }
  }

  /** Fires `beforeSave`; false if a hook vetoes. */
  async #allowed(snapshot: Snapshot, failure: unknown): Promise<boolean> {
    const { requests } = this.#training.run;
    // A pending skip of the epoch is kept.
    const pending = requests.skip;
    requests.skip = undefined;
    try {
      await this.#fire("beforeSave", failure);
      if ((requests.skip as string | undefined) !== "save") return true;
      snapshot.free();
      return false;
    } catch (error) {
      snapshot.free();
      throw error;
    } finally {
      requests.skip = pending;
    }
  }

  /** Writes the snapshot and frees it, whatever happens. */
  async #write(snapshot: Snapshot, saving: Saving, request: SaveRequest): Promise<SavedCheckpoint> {
    try {
      const { name, step, epoch, reason, metrics, files } = saving;
      const { by, format = "safetensors", verify = false } = request;
      const { toFiles, toLentFiles, memory } = await this.#loadCode();
      const { base } = this.#training.model().problem;
      const store = await this.#checkpoints.open();
      const info = {
        step,
        epoch,
        reason,
        metrics,
        by,
        time: Date.now(),
        hookline: VERSION,
        ...(base && { base: { path: base.path, digest: base.digest } }),
        ...this.#checkpoints.nextSave(),
      };
      // Tensors are lent to the store, not copied, if training continues meanwhile. A .pt file has checksums among its
      // bytes, so its tensors are read here anyway.
      const lends = this.#options.save === "async" && format === "safetensors" && store.saveLent;
      const given = lends ? await toLentFiles(snapshot, this.#training.session().engine, files) : undefined;
      const saved = given
        ? await store.saveLent!(name, given.files, given.lent, info)
        : await store.save(name, await toFiles(snapshot, memory, files, format, this.#training.optimizers()), info);
      if (verify) {
        // A checkpoint that cannot be read must not pass for the newest. Lent files were read back for their digests.
        const unread = given && Object.keys(given.files);
        await store
          .verify(name, unread)
          .catch((error: unknown) => store.remove([name]).then(() => Promise.reject(error)));
      }
      this.#checkpoints.add(saved);
      return saved;
    } finally {
      snapshot.free();
    }
  }

  /**
   * Loaded with the first save: a run without checkpoints does not need this code. Kept, since a module loader with
   * hooks, such as tsx, answers every import in a later turn of the event loop, and by then another step would have run
   * before the snapshot is copied.
   */
  async #loadCode(): Promise<SavingCode> {
    if (this.#code) return this.#code;
    const [{ takeSnapshot, SnapshotMemory }, { toFiles, toLentFiles }] = await Promise.all([
      import("./snapshot.ts"),
      import("./checkpoint-files.ts"),
    ]);
    return (this.#code = { takeSnapshot, toFiles, toLentFiles, memory: new SnapshotMemory() });
  }

  /** Waits for the save in progress and reports it to the hooks. */
  async #settle(failure?: unknown): Promise<void> {
    await this.#inFlight;
    await this.#announce(failure);
  }

  async #announce(failure?: unknown): Promise<void> {
    const { run } = this.#training;
    for (let outcome = this.#outcomes.shift(); outcome; outcome = this.#outcomes.shift()) {
      if ("saved" in outcome) {
        run.saved = outcome.saved;
        await this.#fire("afterSave", failure);
      } else {
        // No later attempt can succeed.
        if (isLockLost(outcome.failed.error)) throw outcome.failed.error;
        run.failedSave = outcome.failed;
        this.#warn(`checkpoint ${outcome.failed.name} was not saved: ${outcome.failed.error.message}`);
        await this.#fire("saveError", failure);
      }
    }
  }

  /** After a failure, an error of one hook must not keep the event from the others. */
  async #fire(event: BuiltinEvent, failure: unknown): Promise<void> {
    const { hooks } = this.#training;
    if (failure === undefined) await hooks.fire[event]!();
    else attach(failure, await hooks.fireIsolated(event, this.#options.deadline));
  }
}

/** The name that was asked for. An error in a function that makes it is the hook's. */
function nameOf({ name, by }: SaveRequest, { step, epoch, metrics, free }: Snapshot): string {
  if (typeof name === "string") return name;
  if (name === undefined) return `step-${String(step).padStart(6, "0")}`;
  try {
    return checkName("a checkpoint's name", name({ step, epoch, metrics }));
  } catch (error) {
    free();
    throw new HookError(by[0]!, "requestSave", step, error);
  }
}

const keyOf = ({ clock, epochOpen, epochEntered }: Position): string =>
  [clock.now.step, clock.now.epochsDone, epochOpen, epochEntered].join();
