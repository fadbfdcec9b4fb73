// From the state of a run to a checkpoint in its store: takes a snapshot, and writes it by the shortest way.
import type { FailedSave, SavedCheckpoint, WeightFormat } from "../../core/saving.ts";
import type { toFiles, toLentFiles } from "./checkpoint-files.ts";
import type { Place } from "./place.ts";
import type { Position } from "./run-state.ts";
import { SnapshotMemory } from "./snapshot-memory.ts";
import type { Snapshot, Subject, takeSnapshot } from "./snapshot.ts";

interface SavingCode {
  readonly takeSnapshot: typeof takeSnapshot;
  readonly toFiles: typeof toFiles;
  readonly toLentFiles: typeof toLentFiles;
}

/** What is written, and how. */
interface Writing extends Pick<FailedSave, "name" | "reason" | "step" | "by"> {
  readonly epoch: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly files: Readonly<Record<string, Uint8Array>>;
  readonly format: WeightFormat;
  readonly verify: boolean;
}

export class SnapshotWriter {
  readonly #subject: Subject;
  readonly #place: Place;
  /** Does training go on meanwhile? */
  readonly #beside: boolean;
  readonly #memory = new SnapshotMemory();
  #code: SavingCode | undefined;

  constructor(subject: Subject, place: Place, beside: boolean) {
    this.#subject = subject;
    this.#place = place;
    this.#beside = beside;
  }

  /** `position` is where the run stands, or, after a failure, where it stood when the state was last whole. */
  async take(position?: Position): Promise<Snapshot> {
    const { takeSnapshot } = await this.#loadCode();
    return takeSnapshot(this.#subject, position);
  }

  /** Frees the snapshot, whatever happens. */
  async write(snapshot: Snapshot, what: Writing): Promise<SavedCheckpoint> {
    try {
      const { name, reason, step, epoch, metrics, by, files, format, verify } = what;
      const { toFiles, toLentFiles } = await this.#loadCode();
      const store = await this.#place.open();
      const { runId, parent } = this.#place;
      const serial = this.#place.nextSerial();
      const info = {
        step,
        epoch,
        reason,
        metrics,
        by,
        time: Date.now(),
        serial,
        runId,
        ...(parent !== undefined && { parent }),
      };
      // The fastest copy is none. A file for PyTorch has checksums among its bytes, which are read here anyway.
      const lends = this.#beside && format === "safetensors" && store.saveLent;
      const given = lends ? await toLentFiles(snapshot, this.#subject.session().engine, files) : undefined;
      const saved = given
        ? await store.saveLent!(name, given.files, given.lent, info)
        : await store.save(
            name,
            await toFiles(snapshot, this.#memory, files, format, this.#subject.optimizers()),
            info,
          );
      // What cannot be read back must not pass for the newest. Lent files have been, for their digests.
      const unread = given && Object.keys(given.files);
      if (verify)
        await store
          .verify(name, unread)
          .catch((error: unknown) => store.remove([name]).then(() => Promise.reject(error)));
      this.#place.add(saved);
      return saved;
    } finally {
      snapshot.free();
    }
  }

  /**
   * Loaded with the first save: a run without checkpoints does not carry this code. Kept, since a module loader with
   * hooks, such as tsx, answers every import in a later turn of the event loop, and by then another step would have run
   * beside a snapshot that is not copied yet.
   */
  async #loadCode(): Promise<SavingCode> {
    if (this.#code) return this.#code;
    const [{ takeSnapshot }, { toFiles, toLentFiles }] = await Promise.all([
      import("./snapshot.ts"),
      import("./checkpoint-files.ts"),
    ]);
    return (this.#code = { takeSnapshot, toFiles, toLentFiles });
  }
}
