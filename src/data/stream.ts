// Data without an index: iterables, synchronous or asynchronous, of samples or of ready batches.
import { DataError } from "../core/errors.ts";
import type { LoaderState, MaybePromise } from "../core/model.ts";
import { chain, isPromise, messageOf, quiet } from "../core/maybe.ts";
import { Rng } from "./random.ts";
import type { Made, Reader, Source } from "./reader.ts";

export type AnyIterable<T> = Iterable<T> | AsyncIterable<T>;

/** Starts a new pass over a stream. For exact resume, anything random must come from `rng`, a function of seed and epoch. */
export type StreamFactory<T> = (context: { readonly epoch: number; readonly rng: Rng }) => AnyIterable<T>;

export interface StreamOptions<T> {
  /** Items that make a batch: samples, or 1 for a stream of ready batches. */
  readonly itemsPerBatch: number;
  readonly dropLast: boolean;
  /** Makes a batch of items; `first` is the number of the first in its epoch. */
  make(items: readonly T[], first: number): Made;
  /** How many samples are in the items of one batch. */
  count(items: readonly T[]): number;
  /** The number of items before a saved position. */
  itemsAt(position: LoaderState): number;
}

type AnyIterator<T> = Iterator<T> | AsyncIterator<T>;

function iteratorOf<T>(iterable: AnyIterable<T>): AnyIterator<T> {
  return Symbol.asyncIterator in iterable ? iterable[Symbol.asyncIterator]() : iterable[Symbol.iterator]();
}

class StreamReader<T> implements Reader {
  readonly #options: StreamOptions<T>;
  readonly #open: () => AnyIterator<T>;
  #iterator: AnyIterator<T> | undefined;
  #items = 0;
  #done = false;
  #failure: DataError | undefined;
  /** Reads of an asynchronous stream wait for each other, since the items of a batch must be consecutive. */
  #tail: MaybePromise<unknown> = undefined;

  constructor(open: () => AnyIterator<T>, options: StreamOptions<T>) {
    this.#open = open;
    this.#options = options;
  }

  read(): { made: MaybePromise<Made | undefined> } {
    return { made: this.#inTurn(() => chain(this.#batch(), (items) => this.#made(items))) };
  }

  skip(): MaybePromise<number> {
    return this.#inTurn(() => chain(this.#batch(), (items) => this.#options.count(items)));
  }

  seek(position: LoaderState): MaybePromise<void> {
    const target = this.#options.itemsAt(position);
    return this.#inTurn(() =>
      chain(this.#pull(target - this.#items), () => {
        if (this.#items < target) {
          throw new DataError(
            `DataLoader: the stream ended after ${this.#items} items, before the saved position ${target}. Has it changed since the save?`,
          );
        }
      }),
    );
  }

  close(): MaybePromise<void> {
    if (this.#done || this.#iterator === undefined) return undefined;
    this.#done = true;
    const closing = this.#iterator.return?.();
    return isPromise(closing) ? closing.then(() => {}) : undefined;
  }

  #inTurn<R>(work: () => MaybePromise<R>): MaybePromise<R> {
    const result = isPromise(this.#tail) ? this.#tail.then(work) : work();
    if (isPromise(result)) {
      quiet(result);
      this.#tail = result.catch(() => {});
    }
    return result;
  }

  #made(items: readonly T[]): Made | undefined {
    if (items.length === 0) return undefined;
    try {
      return this.#options.make(items, this.#items - items.length);
    } catch (cause) {
      // The items are gone from the stream, so continuing would lose them silently.
      this.#failure = cause as DataError;
      throw cause;
    }
  }

  /** The items of one batch; none at the end, or when the last batch is short and `dropLast` is set. */
  #batch(): MaybePromise<T[]> {
    const { itemsPerBatch, dropLast } = this.#options;
    return chain(this.#pull(itemsPerBatch), (items) => (dropLast && items.length < itemsPerBatch ? [] : items));
  }

  /** Up to `count` items: fewer only at the end. */
  #pull(count: number): MaybePromise<T[]> {
    const items: T[] = [];
    try {
      while (items.length < count && !this.#ended()) {
        this.#iterator ??= this.#open();
        const result = this.#iterator.next();
        if (isPromise(result)) return this.#pullAsync(result, items, count);
        this.#accept(result, items);
      }
    } catch (cause) {
      this.#fail(cause);
    }
    return items;
  }

  async #pullAsync(first: Promise<IteratorResult<T>>, items: T[], count: number): Promise<T[]> {
    try {
      this.#accept(await first, items);
      while (items.length < count && !this.#ended()) this.#accept(await this.#iterator!.next(), items);
    } catch (cause) {
      this.#fail(cause);
    }
    return items;
  }

  #accept(result: IteratorResult<T>, items: T[]): void {
    if (result.done) {
      this.#done = true;
      return;
    }
    items.push(result.value);
    this.#items++;
  }

  #ended(): boolean {
    // A failed generator looks finished afterwards, which must not count as the end of the epoch.
    if (this.#failure !== undefined) throw this.#failure;
    return this.#done;
  }

  #fail(cause: unknown): never {
    const items = `${this.#items} ${this.#items === 1 ? "item" : "items"}`;
    this.#failure ??= new DataError(`DataLoader: the stream failed after ${items}: ${messageOf(cause)}`, { cause });
    throw this.#failure;
  }
}

/** A source over a factory, called for each epoch, or over an iterable. */
export function streamSource<T>(stream: AnyIterable<T> | StreamFactory<T>, options: StreamOptions<T>): Source {
  // A generator is its own iterator and serves only one epoch. Tested by `next`, because getting an iterator would lock
  // a ReadableStream.
  const oneShot = typeof stream !== "function" && "next" in stream;
  let spent = false;
  return {
    length: undefined,
    rewinds: false,
    makesParts: false,
    open(epoch, seed) {
      if (oneShot && spent) {
        throw new DataError(
          "DataLoader: this stream is an iterator, which can be read only once, and a second pass was started. Give a function that makes a new one: `new DataLoader(() => makeStream(), …)`.",
        );
      }
      const start = () => {
        spent = true;
        return iteratorOf(typeof stream === "function" ? stream({ epoch, rng: new Rng(seed, epoch) }) : stream);
      };
      return new StreamReader(start, options);
    },
  };
}
