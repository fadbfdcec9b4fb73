// workerLoader: loads the rest when it is called, because browsers have no use for it.
import { OptionError } from "../core/errors.ts";
import type { Loader } from "../core/model.ts";
import { checkOptions, is, show } from "../core/options.ts";
import { builtin } from "../platform/builtin.ts";

/** Options of `workerLoader`. */
export interface WorkerLoaderOptions {
  /** Threads that make batches in turn. Use more than one only for data with an index: each reads a whole stream. Default 1. */
  readonly workers?: number;
  /** Batches made ahead of training, by all threads together. Default 2 per thread. */
  readonly prefetch?: number;
}

/**
 * The loader that a module exports, or that a function there makes, in threads of its own (Node only). The memory
 * of its batches is transferred, so a loader of your own must make new arrays for each batch.
 * @example const train = await workerLoader(new URL("./digits.ts#train", import.meta.url), { workers: 2 })
 */
export async function workerLoader(module: URL, options: WorkerLoaderOptions = {}): Promise<Loader> {
  checkOptions("workerLoader", options, { workers: is.wholeFrom(1), prefetch: is.wholeFrom(1) });
  if (!(module instanceof URL) || module.protocol !== "file:") {
    const got = module instanceof URL ? module.href : show(module);
    throw new OptionError(
      `workerLoader: expected the URL of a module and its export, such as new URL("./data.ts#train", import.meta.url), got ${got}.`,
    );
  }
  const { workers = 1, prefetch = 2 * workers } = options;
  builtin("workerLoader", "node:worker_threads");
  // Only for Node: package.json ("browser") leaves it out of browsers' bundles.
  const { openThreadedLoader } = await import("./threaded-loader.ts");
  return openThreadedLoader(module, workers, prefetch);
}
