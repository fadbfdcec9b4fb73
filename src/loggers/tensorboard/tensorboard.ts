// Event files for TensorBoard: scalars, histograms, texts, images and hyperparameters.
import { component } from "../../core/component.ts";
import { OptionError } from "../../core/errors.ts";
import type { ImageMedia } from "../../core/media.ts";
import { is } from "../../core/options.ts";
import { builtin } from "../../platform/builtin.ts";
import { Fence } from "../../runs/fence.ts";
import type { FileSettings, LoggerBackend, Warn } from "../backend.ts";
import type { LogRecord, RunEnd, RunFacts } from "../../runs/types.ts";
import { lastRecordOf } from "../../runs/log-lines.ts";
import { encodePng } from "../png.ts";
import { RecordBuffer } from "./record.ts";
import { threadedBackend } from "../threaded-backend.ts";
import { cutEarlierParts, newestFile, runSuffix, setEventFilesAside } from "./earlier-files.ts";
import {
  type Moment,
  ScalarEvents,
  fileVersion,
  histogramEvent,
  imageEvent,
  sessionEndInfo,
  sessionStart,
  sessionStartInfo,
  textEvent,
} from "./events.ts";
import { EventFile } from "./event-file.ts";
import { TENSORBOARD } from "../../runs/layout.ts";

/** Options of `tensorboard`. */
export interface TensorboardOptions {
  /** Where the event files go. Default: `tb` in the run's directory. */
  readonly dir?: string;
  /** Default `tensorboard`. */
  readonly name?: string;
}

/** Records are written at this many bytes, flush or not. */
const PIECE = 256 * 1024;

/**
 * Writes event files that TensorBoard reads while they grow: `tensorboard --logdir runs`. Each part of a run has a file
 * of its own; a resumed run removes from the earlier files what was logged after the checkpoint.
 * @example logger([tensorboard()])
 */
export const tensorboard = /* @__PURE__ */ component(
  { kind: "logger", name: "tensorboard", takes: () => ({ options: { dir: is.pathToWrite, name: is.name } }) },
  (options: TensorboardOptions = {}): LoggerBackend => {
    const { name = "tensorboard", dir } = options;
    const settings = (): FileSettings => ({ name, dir });
    return threadedBackend({ name, kind: "tensorboard", make: eventFiles, settings, images: true });
  },
);

/** The event file of one part of a run. */
export function eventFiles({ name, dir }: FileSettings, warn: Warn): LoggerBackend {
  let events: EventWriter | undefined;
  return {
    name,
    async open(run) {
      const folder = folderOf(name, dir, run.dir);
      const fence = run.lock && new Fence(run.lock);
      fence?.check();
      const path = run.continued ? await newestFile(name, folder, run) : undefined;
      if (path !== undefined) {
        events = await EventWriter.reopen(name, path, fence);
        return;
      }
      const isResumed = run.resumedAt !== undefined;
      if (!isResumed) await setEventFilesAside(name, folder);
      const shown = isResumed ? await cutEarlierParts(name, folder, run, warn) : undefined;
      events = await EventWriter.open(name, folder, run, { shown, fence });
    },
    log: (record) => events?.log(record),
    flush: () => events?.flush(),
    close: (end) => events?.close(end),
  };
}

function folderOf(owner: string, dir: string | undefined, runDir: string | undefined): string {
  if (dir !== undefined) return dir;
  if (runDir !== undefined) return builtin(owner, "node:path").join(runDir, TENSORBOARD);
  throw new OptionError(`${owner}: there is no directory to write to. Give the trainer a \`runDir\`, or this \`dir\`.`);
}

const moment = (time: number, step: number): Moment => ({ seconds: time / 1000, step });

/** One part of a run. */
class EventWriter {
  readonly #file: EventFile;
  readonly #buffer = new RecordBuffer(PIECE + 4096);
  readonly #scalars = new ScalarEvents();
  /** Images that are being compressed: each waits for the one before, to keep the steps of a tag in order. */
  #images: Promise<void> | undefined;
  #imageError: unknown;
  /** The step of the last record, and its scalars. */
  #shownAt: number;
  #shown: Readonly<Record<string, number>>;

  private constructor(file: EventFile, shownAt: number, shown: ReadonlyMap<string, number>) {
    this.#file = file;
    this.#shownAt = shownAt;
    this.#shown = Object.fromEntries(shown);
  }

  /**
   * Appends to the file of an earlier call. Its end of a session stays: a TensorBoard that has read it would lose its
   * position in the file.
   */
  static async reopen(owner: string, path: string, fence: Fence | undefined): Promise<EventWriter> {
    return new EventWriter(await EventFile.reopen(owner, path, fence), -1, new Map());
  }

  /** `shown` are the scalars that earlier files have for the step from which the run is resumed. */
  static async open(
    owner: string,
    folder: string,
    run: RunFacts,
    { shown = new Map(), fence }: { shown?: ReadonlyMap<string, number> | undefined; fence?: Fence | undefined },
  ): Promise<EventWriter> {
    const { startedAt, resumedAt, hparams } = run;
    const { step: lastStep } = lastRecordOf(run);
    const file = await EventFile.create(owner, folder, startedAt / 1000, runSuffix(run), fence);
    const writer = new EventWriter(file, lastStep, shown);
    const buffer = writer.#buffer;
    buffer.append(fileVersion(startedAt / 1000));
    // The first part needs one too: TensorBoard drops nothing at the first one that it reads.
    buffer.append(sessionStart(moment(startedAt, resumedAt === undefined ? 0 : lastStep + 1)));
    buffer.append(sessionStartInfo(moment(startedAt, 0), hparams));
    // Now, so that a folder that cannot be written shows before the first step.
    await writer.flush();
    return writer;
  }

  log({ time, scalars, media, ...record }: LogRecord): void {
    // A chart shows an evaluation at the step of its weights.
    const { weightsStep: step = record.step } = record;
    this.#scalars.append(this.#buffer, time / 1000, step, step === this.#shownAt ? this.#news(scalars) : scalars);
    this.#shown = step === this.#shownAt ? { ...this.#shown, ...scalars } : scalars;
    this.#shownAt = step;
    for (const tag in media) {
      const item = media[tag]!;
      const at = moment(time, step);
      if (item.kind === "image") this.#compress(at, tag, item);
      else if (item.kind === "histogram") this.#buffer.append(histogramEvent(at, tag, item));
      else this.#buffer.append(textEvent(at, tag, item.text));
    }
    if (this.#buffer.size >= PIECE) this.#file.write(this.#buffer.take());
  }

  /** The scalars that the step does not have yet: the record of an epoch repeats the loss and rate of its last step. */
  #news(scalars: LogRecord["scalars"]): LogRecord["scalars"] {
    const isNew = ([tag, value]: [string, number]): boolean =>
      !Object.hasOwn(this.#shown, tag) || !Object.is(Math.fround(this.#shown[tag]!), Math.fround(value));
    return Object.fromEntries(Object.entries(scalars).filter(isNew));
  }

  async flush(): Promise<void> {
    await this.#images;
    this.#file.write(this.#buffer.take());
    await this.#file.settle();
    const error = this.#imageError;
    this.#imageError = undefined;
    if (error !== undefined) throw error;
  }

  async close({ status, time, step }: RunEnd): Promise<void> {
    // An interrupted run will be resumed: the part that ends it gives its status.
    if (status !== "interrupted")
      this.#buffer.append(sessionEndInfo(moment(time, step), status === "error" ? "failure" : "success"));
    try {
      await this.flush();
    } finally {
      await this.#file.close();
    }
  }

  /** Compressing large images takes long, so a thread of zlib does it, and the event follows. */
  #compress(at: Moment, tag: string, image: ImageMedia): void {
    const ready = Promise.all([encodePng(image), this.#images]);
    this.#images = ready.then(
      ([png]) => this.#buffer.append(imageEvent(at, tag, image, png)),
      (error: unknown) => {
        this.#imageError ??= error;
      },
    );
  }
}
