// s3Upload: copies checkpoints to an S3 bucket in the background.
import type { ContextOf } from "../../core/context.ts";
import type { Hook } from "../../core/hook.ts";
import { component } from "../../core/component.ts";
import { is } from "../../core/options.ts";
import type { SavedCheckpoint, SaveReason } from "../../core/saving.ts";
import { S3_TARGET_CHECKS, S3Target, type S3TargetOptions } from "./target.ts";
import { isReplaceable, UploadQueue } from "./upload-queue.ts";
import { warnUser } from "../../platform/print.ts";

/** Options of `s3Upload`. */
export interface S3UploadOptions extends S3TargetOptions {
  /** Which checkpoints to upload: those saved for one of these reasons, or a function. Default: all. */
  readonly only?: readonly SaveReason[] | ((saved: SavedCheckpoint) => boolean);
  /** Larger files are sent in parts of this many bytes. At least 5 MiB, which S3 requires. Default 8 MiB. */
  readonly partSize?: number;
  /** Parts sent at the same time; each takes `partSize` of memory. Default 4. */
  readonly concurrency?: number;
  /** Retries of a request after a temporary failure. Default 5, after 0.5 s, 1 s, 2 s, … */
  readonly retries?: number;
  /** Milliseconds without progress after which a request fails. Default 30000. */
  readonly timeout?: number;
  /** Milliseconds to wait for pending uploads at the end of the run. Default 60000. */
  readonly flushTimeout?: number;
  readonly name?: string;
}

const LEAST_PART = 5 << 20;

/** Time to abort uploads before the loop's own deadline for a hook. */
const MARGIN_MS = 1500;

/** What uploads need of the context after the event. */
type Around = Pick<ContextOf<"afterSave">, "checkpoints" | "config">;

/**
 * Uploads every checkpoint, its manifest last, to a bucket of S3 or a compatible service. Needs the package s3mini.
 * @example s3Upload({ endpoint: "https://s3.eu-central-1.amazonaws.com", bucket: "my-runs", only: ["best", "final"] })
 */
export const s3Upload = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "s3Upload",
    takes: () => ({
      options: {
        ...S3_TARGET_CHECKS,
        only: is.or(is.function, is.arrayOf(is.name)),
        partSize: is.wholeFrom(LEAST_PART),
        concurrency: is.wholeFrom(1),
        retries: is.wholeFrom(0),
        timeout: is.positive,
        flushTimeout: is.nonNegative,
        name: is.name,
      },
      required: ["endpoint"],
    }),
    checkEnvironment: (options: S3UploadOptions) => checkEnvironment(new S3Target("s3Upload", options)),
  },
  makeS3Upload,
);

function makeS3Upload(options: S3UploadOptions): Hook {
  const { name = "s3Upload", partSize = 8 << 20, concurrency = 4, retries = 5 } = options;
  const { only, timeout = 30_000, flushTimeout = 60_000 } = options;
  const target = new S3Target("s3Upload", options);
  const wanted = typeof only === "function" ? only : ({ reason }: SavedCheckpoint) => only?.includes(reason) ?? true;

  let queue: UploadQueue | undefined;
  /** When the wait at the end of the run is over. */
  let deadline: number | undefined;

  async function upload(saved: SavedCheckpoint, { checkpoints }: Around, signal: AbortSignal): Promise<number> {
    const { sendCheckpoint } = await import("./send.ts");
    const how = { partSize, concurrency, retries, timeout, signal };
    return sendCheckpoint(saved, checkpoints, target, how);
  }

  function start(around: Around): UploadQueue {
    return new UploadQueue({
      upload: (saved, signal) => upload(saved, around, signal),
      // Whether it arrived or not: other hooks may have released it meanwhile.
      done: (saved) => around.checkpoints.release([saved.name]),
      warn: (message) => warnUser(around.config, target.scrub(`${name}, to ${target.shown}: ${message}.`)),
    });
  }

  function push(saved: SavedCheckpoint, { checkpoints, config }: Around): void {
    if (!wanted(saved)) return;
    queue ??= start({ checkpoints, config });
    checkpoints.hold([saved.name]);
    queue.push(saved);
  }

  /** Metrics for loggers. */
  function counters(): Record<string, number> {
    const { uploaded = 0, failed = 0, dropped = 0, bytes = 0 } = queue ?? {};
    const values = { uploaded, failed, dropped, bytes };
    return Object.fromEntries(Object.entries(values).map(([key, value]) => [`${name}/${key}`, value]));
  }

  /** Waits for the queue, within the rest of `flushTimeout` and of the loop's deadline for a hook. */
  async function flush(limit: number): Promise<void> {
    deadline ??= performance.now() + flushTimeout;
    await queue?.idle(Math.min(limit, deadline - performance.now()));
  }

  return {
    name,
    // After the hooks that save. A failed upload is a warning of the queue.
    stage: "logger",
    // Other errors are mistakes in the program.
    onError: "throw",
    ranks: "main",
    logs: [`${name}/*`],
    // Report missing keys or packages now, not at the first checkpoint.
    onTrainBegin: () => checkEnvironment(target),
    onAfterLoad(ctx) {
      // The earlier run may have been killed before its uploads were complete. What has arrived is not sent again.
      if (ctx.loaded.why !== "resume") return;
      const saved = ctx.checkpoints.list();
      for (const each of saved) if (each === saved.at(-1) || !isReplaceable(each)) push(each, ctx);
    },
    onAfterSave(ctx) {
      push(ctx.saved, ctx);
      if (queue) ctx.log(counters());
    },
    async onTrainEnd(ctx) {
      // After a failure the loop limits the time of each hook, and after a signal the process that of all hooks.
      const limits = { error: patience(ctx.config), interrupted: grace(ctx.config) } as Readonly<
        Record<string, number>
      >;
      await flush(limits[ctx.status] ?? Infinity);
      if (queue) ctx.log(counters());
    },
    async onClose(ctx) {
      await flush(patience(ctx.config));
      const last = queue;
      queue = undefined;
      deadline = undefined;
      await last?.close();
      if (last?.problem === undefined) return;
      const message = target.scrub(`to ${target.shown}: ${last.problem}.`);
      if (last.lost) throw new Error(message);
      warnUser(ctx.config, `${name}, ${message}`);
    },
  };
}

/** Throws if the keys or the package are missing. */
async function checkEnvironment(target: S3Target): Promise<void> {
  target.keys("s3Upload");
  const { loadS3mini } = await import("./bucket.ts");
  await loadS3mini("s3Upload");
}

const patience = ({ closeTimeout }: Around["config"]): number =>
  Math.max(0, (typeof closeTimeout === "number" ? closeTimeout : 10_000) - MARGIN_MS);

const grace = ({ signalGrace }: Around["config"]): number =>
  Math.max(0, (typeof signalGrace === "number" ? signalGrace : 30_000) - 2 * MARGIN_MS);
