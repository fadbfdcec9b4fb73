// A loader that works in threads of its own: what a user calls. The rest is loaded when it is: browsers have no use for it.
import { OptionError } from "../core/errors.ts";
import type { Loader } from "../core/model.ts";
import { checkOptions, is, show } from "../core/options.ts";

/** Options of `workerLoader`. */
export interface WorkerLoaderOptions {
  /** Threads that make batches in turn. More than one is for data with an index: of a stream each would read all. Default 1. */
  readonly workers?: number;
  /** Batches that are made ahead of training, in all threads together. Default 2 for each. */
  readonly prefetch?: number;
}

/**
 * The loader that a module exports, or that a function there makes, in threads of its own (Node only). What it returns
 * is given away: a loader of your own makes new arrays for each batch.
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
  const { openThreadedLoader } = await import("./threaded-loader.ts");
  return openThreadedLoader(module, workers, prefetch);
}
