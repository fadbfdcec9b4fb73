// bullmq: trials run on any number of machines, by workers that take them from a queue in Redis.
import { component } from "../../core/component.ts";
import { checkOptions, is, type Check } from "../../core/options.ts";
import { builtin } from "../../platform/builtin.ts";
import type { StudyQueue } from "./bullmq/study-queue.ts";
import { type Runner, checkPortable } from "./runner.ts";

/** Options of `bullmq`. */
export interface BullmqOptions {
  /** `redis://user:password@host:6379/0`, or `rediss://` for TLS. */
  readonly redis: string;
  /**
   * Seconds after which a silent worker loses its trial, which then resumes on another worker. A worker that cannot reach
   * Redis for this long gives its trial up by itself. Default 10.
   */
  readonly lock?: number;
  /** Accepts a Redis that may lose keys: one without an append-only file, or one that evicts keys. Default false. */
  readonly allowVolatile?: boolean;
  /**
   * Signs everything that the study and its workers send through Redis, so that nobody without the key can forge it. At
   * least 16 characters, the same for all of them. Default: the environment variable `HOOKLINE_QUEUE_KEY`; without it,
   * nothing is signed.
   */
  readonly key?: string;
  /** What the module of the trial is relative to. Default: the working directory. */
  readonly directory?: string;
}

export const redisAddress: Check = {
  expected: "an address such as redis://localhost:6379",
  test: (value) => typeof value === "string" && /^rediss?:\/\/./.test(value) && URL.canParse(value),
};

export const keyOption: Check = {
  expected: "a text of 16 characters or more",
  test: (value) => typeof value === "string" && value.length >= 16,
};

/** @example new Study({ …, trial: "./trial.ts#train", runner: bullmq({ redis: "redis://localhost:6379" }), concurrency: 16 }) */
export const bullmq = /* @__PURE__ */ component(
  {
    kind: "runner",
    name: "bullmq",
    takes: () => ({
      options: {
        key: keyOption,
        redis: redisAddress,
        lock: is.positive,
        allowVolatile: is.boolean,
        directory: is.name,
      },
      required: ["redis"],
      supplied: ["directory"],
    }),
  },
  (options: BullmqOptions): Runner => {
    const { redis, lock = 10, allowVolatile = false, directory, key } = options;
    let queue: StudyQueue | undefined;
    return {
      name: "bullmq",
      ...(directory !== undefined && { directory }),
      async open(study) {
        const trial = checkPortable("bullmq", study);
        const { cwd } = builtin('Runner "bullmq"', "node:process");
        // Only for Node: package.json ("browser") leaves it out of browsers' bundles.
        const { openStudyQueue } = await import("./bullmq/study-queue.ts");
        const place = directory ?? cwd();
        const shared = { redis, allowVolatile, key: key ?? keyOfEnvironment() };
        queue = await openStudyQueue({ ...shared, lockMs: lock * 1000, directory: place, trial, study });
      },
      run: (job, host) => queue!.run(job, host),
      close: () => queue!.close(),
    };
  },
);

/** An empty variable counts as unset. */
export function keyOfEnvironment(): string | undefined {
  const key = process.env["HOOKLINE_QUEUE_KEY"] || undefined;
  if (key !== undefined) checkOptions("HOOKLINE_QUEUE_KEY", { key }, { key: keyOption });
  return key;
}
