// A thread that makes batches: it imports the user's module, and asks the loader there for the batches that are its own.
import { isTypedArray, toHostArray } from "../core/arrays.ts";
import { DataError, OptionError } from "../core/errors.ts";
import type { HostBatch, Loader } from "../core/model.ts";
import { messageOf, quiet } from "../core/maybe.ts";
import { show } from "../core/options.ts";
import { didYouMean } from "../core/names.ts";
import { builtin } from "../platform/builtin.ts";
import { importModule } from "../platform/import-module.ts";
import { isLoader } from "./loader-set.ts";
import { allocateLike } from "./rows.ts";
import type { Failure, FromThread, PassStart, ThreadStart, ToThread } from "./thread-messages.ts";

interface Port {
  on(event: "message", handler: (message: ToThread) => void): void;
  postMessage(message: FromThread, transfer?: readonly ArrayBuffer[]): void;
}

type Files = ReturnType<typeof process.getBuiltinModule<"node:fs">>;
type Url = ReturnType<typeof process.getBuiltinModule<"node:url">>;

const { workerData } = builtin<{ workerData: ThreadStart & { port: Port } }>(
  "A loader's thread",
  "node:worker_threads",
);
const { port, shown } = workerData;

/** Asked for by position: whatever lies before is passed over, since other threads make it. */
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

  /** With the first read at the latest: a position that does not fit the data is then its error. */
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

  /** Nobody waits for it: what fails in it must not fail the next pass. */
  end(): void {
    quiet(this.#loader.close?.());
  }
}

async function findLoader(): Promise<Loader> {
  const url = new URL(workerData.module);
  const name = decodeURIComponent(url.hash.slice(1)) || "default";
  const { fileURLToPath } = builtin<Url>("A loader's thread", "node:url");
  const file = fileURLToPath(url);
  if (!builtin<Files>("A loader's thread", "node:fs").existsSync(file)) throw new OptionError("there is no such file.");
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

/** Memory that has moved: an array in it is empty now. */
const moved = new WeakSet<ArrayBufferLike>();

/** The batch with arrays that may leave this thread: their memory moves, and what shares memory with more is copied. */
function detachable(batch: HostBatch): { batch: HostBatch; transfer: ArrayBuffer[] } {
  const transfer = new Set<ArrayBuffer>();
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
    if (data.buffer instanceof ArrayBuffer) {
      transfer.add(data.buffer);
      moved.add(data.buffer);
    }
    return [name, { ...array, data }];
  });
  return { batch: Object.fromEntries(fields), transfer: [...transfer] };
}

async function answer(loader: Loader, making: Promise<HostBatch | undefined>): Promise<void> {
  try {
    const made = await making;
    const state = loader.state();
    if (made === undefined) return port.postMessage({ batch: undefined, state });
    const { batch, transfer } = detachable(made);
    return port.postMessage({ batch, state }, transfer);
  } catch (error) {
    return port.postMessage({ failure: failureOf(error) });
  }
}

const failureOf = (error: unknown): Failure => ({
  message: messageOf(error),
  stack: error instanceof Error ? error.stack : undefined,
});

try {
  const loader = await findLoader();
  const batches = new Batches(loader);
  let work: Promise<unknown> = Promise.resolve();
  port.on("message", (message) => {
    work = work.then(() => {
      if ("begin" in message) return batches.begin(message.begin);
      if ("end" in message) return batches.end();
      return answer(loader, "open" in message ? batches.open() : batches.read(message.read));
    });
  });
  port.postMessage({ length: loader.length });
} catch (error) {
  port.postMessage({ failure: failureOf(error) });
}
