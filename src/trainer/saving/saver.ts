// Saving beside training: one snapshot at a time goes to the disk while the steps go on.
import { attach, CheckpointError, HookError, isLockLost } from "../../core/errors.ts";
import type { BuiltinEvent } from "../../core/events.ts";
import type { Checkpoints, FailedSave, ResumeReport, SaveRequest, SavedCheckpoint } from "../../core/saving.ts";
import { checkName } from "../../core/safe-name.ts";
import type { Place } from "./place.ts";
import { positionOf, type Position } from "./run-state.ts";
import { SnapshotWriter } from "./snapshot-writer.ts";
import type { Snapshot, Subject } from "./snapshot.ts";

/** How a save ended, until the next boundary tells the hooks. */
type Outcome = { readonly saved: SavedCheckpoint } | { readonly failed: FailedSave };

export interface SaverOptions {
  /** `sync` waits for the disk at the boundary of the save itself. */
  readonly save: "async" | "sync";
  readonly maxRollbacks: number;
  /** Milliseconds that a hook may take in an emergency. */
  readonly deadline: number;
}

export class Saver {
  readonly #subject: Subject;
  readonly #place: Place;
  readonly #options: SaverOptions;
  readonly #warn: (message: string) => void;
  readonly #writer: SnapshotWriter;
  #inFlight: Promise<void> | undefined;
  readonly #outcomes: Outcome[] = [];
  /** Where the run stood before the step at hand; between steps it is where it is. */
  #before: Position | undefined;
  /** Is the state whole, as it is between steps? Before training begins there is none to save. */
  #whole = false;
  /** Which state was saved last: one that did not change needs no second checkpoint. */
  #savedState = "";

  constructor(subject: Subject, place: Place, options: SaverOptions, warn: (message: string) => void) {
    this.#subject = subject;
    this.#place = place;
    this.#options = options;
    this.#warn = warn;
    this.#writer = new SnapshotWriter(subject, place, options.save === "async");
  }

  get pending(): boolean {
    const { save, rollback } = this.#subject.run.requests;
    return save !== undefined || rollback !== undefined || this.#outcomes.length > 0;
  }

  async begin(): Promise<void> {
    if (this.#subject.run.requests.saveAtEnd) await this.#place.open();
    this.#whole = true;
  }

  depart(): void {
    this.#before = this.#subject.run.requests.saveAtEnd ? this.#here() : undefined;
    this.#whole = false;
  }

  arrive(): void {
    this.#before = undefined;
    this.#whole = true;
  }

  #here(): Position {
    const { run, feed, optimizers } = this.#subject;
    return positionOf(run, feed, optimizers());
  }

  /** Goes on from a checkpoint, or from nothing where `from` finds none. */
  async resume(from: string): Promise<void> {
    const { resumeRun } = await import("./resume.ts");
    const restored = (report: ResumeReport): void => this.reset(report);
    await resumeRun(this.#subject, this.#place, from, { warn: this.#warn, restored });
  }

  async rollback(): Promise<void> {
    const { run } = this.#subject;
    const request = run.requests.rollback;
    if (!request) return;
    run.requests.rollback = undefined;
    await this.#inFlight;
    const { rollBack } = await import("./restore.ts");
    await rollBack(this.#subject, this.#place, request, this.#options.maxRollbacks);
    this.arrive();
  }

  async boundary(): Promise<void> {
    await this.#announce();
    const { requests } = this.#subject.run;
    const request = requests.save;
    requests.save = undefined;
    if (request) await this.#save(request);
    if (this.#options.save === "sync") await this.#settle();
  }

  async end(): Promise<void> {
    const { run } = this.#subject;
    // A run that never saves must not end well either after another process has taken its directory.
    this.#place.assertHeld();
    await this.boundary();
    await this.#settle();
    const request = run.requests.saveAtEnd;
    const reason = run.status === "interrupted" ? "emergency" : "final";
    if (request && this.#stateKey() !== this.#savedState) await this.#save({ ...request, reason });
    await this.#settle();
    // A hook that tries again after a failure: it decides how often.
    while (run.requests.save) {
      await this.boundary();
      await this.#settle();
    }
  }

  /** After a failure: the last whole state, if a hook asked for it. What goes wrong is attached to the failure. */
  async emergency(failure: unknown): Promise<void> {
    const { run } = this.#subject;
    const request = run.requests.saveAtEnd;
    run.requests.save = undefined;
    // The directory is another process's now.
    if (isLockLost(failure)) return;
    try {
      await this.#settle(failure);
      const position = this.#before ?? (this.#whole ? this.#here() : undefined);
      // Before the first step nothing is trained, and a checkpoint would keep a model that may be what is wrong.
      const isWorthIt = position !== undefined && position.clock.now.step > 0;
      if (request && isWorthIt && stateKey(position) !== this.#savedState)
        await this.#save({ ...request, reason: "emergency" }, { position: this.#before, failure });
      await this.#settle(failure);
    } catch (error) {
      const lost = new CheckpointError(
        this.#place.dir ?? "checkpoints",
        `there is no emergency checkpoint of step ${(this.#before?.clock ?? run.clock).now.step}: ${(error as Error).message}`,
        "The program that failed had taken the parameters with it; earlier checkpoints are as they were.",
        { cause: error },
      );
      attach(failure, [lost]);
      this.#warn(lost.message);
    }
  }

  /** The checkpoints as one hook sees them. */
  view(hook: string): Checkpoints {
    const place = this.#place;
    return {
      enabled: place.exists,
      dir: place.dir,
      list: () => place.list(),
      read: async (name, file) => (await place.open()).read(name, file),
      weights: async (name, options = {}) => {
        const { weightsIn } = await import("./checkpoint-files.ts");
        return weightsIn(await place.open(), name, options, this.#subject.optimizers());
      },
      lock: () => place.holdLock(),
      hold: (names) => place.hold(hook, names),
      release: (names) => place.release(hook, names),
    };
  }

  /** A run begins, or goes on from a checkpoint: of this place, then its state is saved already. */
  reset(loaded?: ResumeReport): void {
    this.#before = undefined;
    this.#whole = false;
    this.#savedState = loaded?.checkpoint && this.#place.has(loaded.checkpoint.name) ? this.#stateKey() : "";
  }

  /** In an emergency, `position` is where the run stood before the step that failed; undefined where it is whole. */
  async #save(
    request: SaveRequest,
    emergency?: { readonly position: Position | undefined; readonly failure: unknown },
  ): Promise<void> {
    await this.#place.open();
    await this.#settle(emergency?.failure);
    const snapshot = await this.#writer.take(emergency?.position);
    const { step, epoch, metrics, tensors } = snapshot;
    const { reason, by } = request;
    const { run } = this.#subject;
    const name = this.#place.freeName(nameOf(request, snapshot), by);
    run.saving = { name, reason, step, epoch, metrics, tensors, files: {} };
    if (!(await this.#allowed(snapshot, emergency?.failure))) return;
    const { saving } = run;
    const key = stateKey(snapshot.state.position);
    const { format = "safetensors", verify = false } = request;
    this.#inFlight = this.#writer.write(snapshot, { ...saving, by, format, verify }).then(
      (saved) => {
        this.#savedState = key;
        this.#outcomes.push({ saved });
      },
      (error: Error) => void this.#outcomes.push({ failed: { name: saving.name, reason, step, by, error } }),
    );
  }

  /** Fires `beforeSave`; false when a hook vetoes. */
  async #allowed(snapshot: Snapshot, failure: unknown): Promise<boolean> {
    const { requests } = this.#subject.run;
    // A skip of the epoch that is already asked for stays so.
    const asked = requests.skip;
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
      requests.skip = asked;
    }
  }

  /** Waits for what is being written and tells the hooks. */
  async #settle(failure?: unknown): Promise<void> {
    await this.#inFlight;
    await this.#announce(failure);
  }

  async #announce(failure?: unknown): Promise<void> {
    const { run } = this.#subject;
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

  /** After a failure no hook may keep the others from knowing. */
  async #fire(event: BuiltinEvent, failure: unknown): Promise<void> {
    const { hooks } = this.#subject;
    if (failure === undefined) await hooks.fire[event]!();
    else attach(failure, await hooks.fireIsolated(event, this.#options.deadline));
  }

  #stateKey(): string {
    const { run, feed, optimizers } = this.#subject;
    return stateKey(positionOf(run, feed, optimizers()));
  }
}

/** The name that was asked for. A function that fails is the hook's error. */
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

const stateKey = ({ clock, epochOpen, epochEntered }: Position): string =>
  [clock.now.step, clock.now.epochsDone, epochOpen, epochEntered].join();
