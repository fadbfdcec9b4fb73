// Copies checkpoints to a bucket as they become durable: in the background, so that no service can hold up the run.
import type { ContextOf } from "../../core/context.types.ts";
import type { Hook } from "../../core/hook.ts";
import { component } from "../../core/component.ts";
import { is } from "../../core/options.ts";
import type { SavedCheckpoint, SaveReason } from "../../core/saving.ts";
import { S3_TARGET_CHECKS, S3Target, type S3TargetOptions } from "./target.ts";
import { isReplaceable, UploadQueue } from "./upload-queue.ts";
import { warnUser } from "../../platform/print.ts";

/** Options of `s3Upload`. */
export interface S3UploadOptions extends S3TargetOptions {
  /** Which checkpoints: those saved for one of these reasons, or a choice of your own. Default: all. */
  readonly only?: readonly SaveReason[] | ((saved: SavedCheckpoint) => boolean);
  /** Bytes from which on a file is sent in parts of this size. At least 5 MiB, which S3 asks for. Default 8 MiB. */
  readonly partSize?: number;
  /** Parts on their way at the same time; each takes `partSize` of memory. Default 4. */
  readonly concurrency?: number;
  /** Further attempts at a request that failed for a passing reason. Default 5, after 0.5 s, 1 s, 2 s, … */
  readonly retries?: number;
  /** Milliseconds without any progress after which a request is given up. Default 30000. */
  readonly timeout?: number;
  /** Milliseconds that the end of the run waits for what is still to be sent. Default 60000. */
  readonly flushTimeout?: number;
  readonly name?: string;
}

const LEAST_PART = 5 << 20;

/** For breaking off: the loop's own deadline for a hook must not come first. */
const MARGIN_MS = 1500;

/** What uploads need of the context, kept beyond the event. */
type Around = Pick<ContextOf<"afterSave">, "checkpoints" | "config">;

/**
 * Uploads every checkpoint, its manifest last, to a bucket of S3 or a service like it. Needs the package s3mini.
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
  /** Of the end of the run. */
  let deadline: number | undefined;

  async function upload(saved: SavedCheckpoint, { checkpoints }: Around, signal: AbortSignal): Promise<number> {
    const { sendCheckpoint } = await import("./send.ts");
    const how = { partSize, concurrency, retries, timeout, signal };
    return sendCheckpoint(saved, checkpoints, target, how);
  }

  function start(around: Around): UploadQueue {
    return new UploadQueue({
      upload: (saved, signal) => upload(saved, around, signal),
      // However it ended: other hooks may have given it up meanwhile.
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

  /** How things stand, for the loggers. */
  function counters(): Record<string, number> {
    const { uploaded = 0, failed = 0, dropped = 0, bytes = 0 } = queue ?? {};
    const values = { uploaded, failed, dropped, bytes };
    return Object.fromEntries(Object.entries(values).map(([key, value]) => [`${name}/${key}`, value]));
  }

  /** Waits for the queue, within what is left of `flushTimeout` and of the time that the loop leaves a hook. */
  async function flush(limit: number): Promise<void> {
    deadline ??= performance.now() + flushTimeout;
    await queue?.idle(Math.min(limit, deadline - performance.now()));
  }

  return {
    name,
    // Only copies: it runs after the hooks that save, and what cannot be sent is a warning of the queue's.
    stage: "logger",
    // What is left are mistakes in the program.
    onError: "throw",
    ranks: "main",
    logs: [`${name}/*`],
    // Whatever is missing is better known now than at the first checkpoint.
    onTrainBegin: () => checkEnvironment(target),
    onAfterLoad(ctx) {
      // The run that wrote them may have been killed before they had arrived; what is there is not sent again.
      if (ctx.loaded.why !== "resume") return;
      const saved = ctx.checkpoints.list();
      for (const each of saved) if (each === saved.at(-1) || !isReplaceable(each)) push(each, ctx);
    },
    onAfterSave(ctx) {
      push(ctx.saved, ctx);
      if (queue) ctx.log(counters());
    },
    async onTrainEnd(ctx) {
      // After a failure the loop waits only so long for each hook, and after a signal the process for all of them.
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

/** Throws when there are no keys for a run to upload with, or no package. */
async function checkEnvironment(target: S3Target): Promise<void> {
  target.keys("s3Upload");
  const { loadS3mini } = await import("./bucket.ts");
  await loadS3mini("s3Upload");
}

const patience = ({ closeTimeout }: Around["config"]): number =>
  Math.max(0, (typeof closeTimeout === "number" ? closeTimeout : 10_000) - MARGIN_MS);

const grace = ({ signalGrace }: Around["config"]): number =>
  Math.max(0, (typeof signalGrace === "number" ? signalGrace : 30_000) - 2 * MARGIN_MS);
