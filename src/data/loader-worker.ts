// A thread that makes batches: it imports the user's module, and reads those batches from its loader that are this thread's.
import { type HostArray, isTypedArray, toHostArray } from "../core/arrays.ts";
import { DataError, OptionError } from "../core/errors.ts";
import type { Loader, HostBatch } from "../core/model.ts";
import { quiet } from "../core/maybe.ts";
import { show } from "../core/options.ts";
import { didYouMean } from "../core/names.ts";
import { builtin } from "../platform/builtin.ts";
import { importModule } from "../platform/import-module.ts";
import { serve, threadData } from "../platform/thread.ts";
import { isLoader } from "./mix.ts";
import { allocateLike } from "./indexed.ts";
import type { LoaderAnswer, LoaderRequest, LoaderThreadStart, PassStart } from "./threaded-loader.ts";

const { module: moduleUrl, shown } = threadData() as LoaderThreadStart;

/** Batches by number: those in between are skipped, since other threads make them. */
class Batches {
  readonly #loader: Loader;
  #at = 0;
  #start: PassStart | undefined;

  constructor(loader: Loader) {
    this.#loader = loader;
  }

  begin(start: PassStart): void {
    this.#start = start;
  }

  /** Starts the pass, at the latest with the first read, which then reports a position that does not fit the data. */
  async open(): Promise<undefined> {
    const start = this.#start;
    if (start === undefined) return undefined;
    this.#start = undefined;
    this.#loader.begin(start.epoch, start.seed);
    if (start.at) await this.#loader.load(start.at);
    this.#at = start.at?.batches ?? 0;
    return undefined;
  }

  async read(number: number): Promise<HostBatch | undefined> {
    await this.open();
    for (; this.#at < number; this.#at++) if (!(await this.#loader.skip())) return undefined;
    const batch = await this.#loader.next();
    this.#at++;
    return batch;
  }

  /** Nothing waits for this: its failure must not fail the next pass. */
  end(): void {
    quiet(this.#loader.close?.());
  }
}

async function findLoader(): Promise<Loader> {
  const url = new URL(moduleUrl);
  const name = decodeURIComponent(url.hash.slice(1)) || "default";
  const { fileURLToPath } = builtin("A loader's thread", "node:url");
  const file = fileURLToPath(url);
  if (!builtin("A loader's thread", "node:fs").existsSync(file)) throw new OptionError("there is no such file.");
  const [module] = shown.split("#");
  const exports = await importModule(
    file,
    module!,
    process.cwd(),
    (message, cause) => new DataError(message, { cause }),
  );
  const found = Object.hasOwn(exports, name) ? exports[name] : undefined;
  const loader: unknown = typeof found === "function" ? await (found as () => unknown)() : found;
  if (isLoader(loader)) return loader;
  const known = Object.keys(exports);
  const what =
    found === undefined ? `there is no export \`${name}\`.${didYouMean(name, known)}` : `it is ${show(loader)}.`;
  throw new OptionError(
    `${what} Export a loader, such as \`export const ${name === "default" ? "train" : name} = new DataLoader(…)\`, or a function that makes one.`,
  );
}

/** Memory that was transferred: arrays in it are empty now. */
const moved = new WeakSet<ArrayBufferLike>();

/** The batch with arrays whose memory can move to the other thread: an array in a larger buffer is copied. */
function detachable(batch: HostBatch): HostBatch {
  const fields = Object.entries(batch).map(([name, given]): [string, HostBatch[string]] => {
    if (moved.has((isTypedArray(given) ? given : given.data).buffer)) {
      throw new DataError(
        `\`${name}\` is an array of an earlier batch. What a loader returns is given away: make new arrays for each batch.`,
      );
    }
    const array = toHostArray(given, `\`${name}\``);
    let { data } = array;
    if (data.byteLength !== data.buffer.byteLength) {
      data = allocateLike(data, data.length);
      data.set(array.data);
    }
    if (data.buffer instanceof ArrayBuffer) moved.add(data.buffer);
    return [name, { ...array, data }];
  });
  return Object.fromEntries(fields);
}

const loading = findLoader().then((loader) => ({ loader, batches: new Batches(loader) }));
/** One after the other: a loader makes one batch at a time. */
let work: Promise<unknown> = loading.catch(() => undefined);

async function answer(request: LoaderRequest): Promise<LoaderAnswer> {
  const { loader, batches } = await loading;
  if ("length" in request) return { length: loader.length };
  if ("begin" in request) {
    batches.begin(request.begin);
    return undefined;
  }
  if ("end" in request) {
    batches.end();
    return undefined;
  }
  const made = "open" in request ? await batches.open() : await batches.read(request.read);
  return { batch: made && detachable(made), state: loader.state() };
}

/** The memory of a detachable batch, which is transferred to the other thread. */
function buffersOf(answered: LoaderAnswer): ArrayBuffer[] {
  const batch = answered && "batch" in answered ? answered.batch : undefined;
  const buffers = Object.values((batch ?? {}) as Record<string, HostArray>).map(({ data }) => data.buffer);
  return [...new Set(buffers)].filter((buffer) => buffer instanceof ArrayBuffer);
}

serve((request: LoaderRequest) => {
  const answered = work.then(() => answer(request));
  work = answered.catch(() => undefined);
  return answered;
}, buffersOf);
