// All loaders of a phase as one: the loop asks which loader is next, then for the batch, whether there is one or many.
import { isHostArray, isTypedArray } from "../core/arrays.ts";
import { DataError, OptionError } from "../core/errors.ts";
import { type Json, show } from "../core/options.ts";
import type { HostBatch, Loader, LoaderState, MaybePromise, Share } from "../core/model.ts";
import { all, chain } from "../core/maybe.ts";
import { advance, choose, type Mix, type MixOptions, type MixState, mixStart, readMix } from "./mix.ts";
import { mixLength, mixSteps, type StepCount } from "./mix-length.ts";
import { PreviewedLoader } from "./previewed-loader.ts";
import { type Part, shareOf } from "./share.ts";

/** One loader of the set, and where its current pass stands. */
interface Track {
  readonly name: string;
  readonly loader: PreviewedLoader;
  /** Passes finished in this epoch. */
  passes: number;
  /** Batches consumed in this pass. */
  given: number;
  /** For a loader of unknown length: the batch after the consumed ones (undefined at the end) and the position before it. */
  ahead?: { readonly batch: HostBatch | undefined; readonly before: LoaderState };
}

interface SavedSet extends Omit<MixState, "turn"> {
  readonly epoch: number;
  readonly turn: string;
  readonly loaders: Readonly<Record<string, LoaderState & { readonly passes: number }>>;
}

const hasMore = ({ loader, given, ahead }: Track): boolean =>
  loader.length === undefined ? ahead?.batch !== undefined : given < loader.length;

/** Every pass has an epoch number of its own, so that a loader that starts again has a new order. */
const passEpoch = (epoch: number, passes: number): number => epoch + passes * 0x1_0000_0000;

export function isLoader(value: unknown): value is Loader {
  const { begin, next } = (value ?? {}) as Partial<Loader>;
  return typeof begin === "function" && typeof next === "function";
}

function readLoaders(train: Loader | Readonly<Record<string, Loader>>): Record<string, Loader> {
  if (isLoader(train)) return { train };
  if (typeof train !== "object" || train === null || Object.keys(train).length === 0) {
    throw new OptionError(`Expected a loader or loaders by name, such as { a: new DataLoader(…) }, got ${show(train)}`);
  }
  for (const [name, loader] of Object.entries(train)) {
    if (isLoader(loader)) continue;
    const arrays = isTypedArray(loader) || isHostArray(loader);
    throw new OptionError(
      arrays
        ? `Expected a loader, got arrays (${Object.keys(train).join(", ")}). Cut them into batches: new DataLoader({ ${Object.keys(train).join(", ")} }, { batchSize: 32 })`
        : `Expected loader \`${name}\` to be a loader such as new DataLoader(…), got ${show(loader)}`,
    );
  }
  return train;
}

/**
 * One loader, named "train", or several by name, in the order that `mix` says. Calls must not overlap.
 * @example new LoaderSet({ web, books }, { strategy: "weighted", weights: { web: 3, books: 1 } })
 */
export class LoaderSet {
  readonly names: readonly string[];
  readonly #tracks: readonly Track[];
  readonly #mix: Mix;
  #key = { epoch: 0, seed: 0 };
  #order: MixState = mixStart;
  #source: number | undefined;
  #peeked: { readonly from: number | undefined; readonly index: number | undefined } | undefined;

  constructor(train: Loader | Readonly<Record<string, Loader>>, mix?: MixOptions) {
    const loaders = Object.entries(readLoaders(train));
    this.names = loaders.map(([name]) => name);
    this.#mix = readMix(this.names, mix);
    this.#tracks = loaders.map(([name, loader]) => ({
      name,
      loader: new PreviewedLoader(name, loader),
      passes: 0,
      given: 0,
    }));
  }

  /** Batches in an epoch; undefined when streams or chance decide it. */
  get length(): number | undefined {
    return mixLength(this.#mix, this.#lengths());
  }

  /** Which loader the last batch came from. */
  get source(): number | undefined {
    return this.#source;
  }

  /** Steps in an epoch; undefined when streams or chance decide it. */
  stepsPerEpoch(count: StepCount = {}): number | undefined {
    return mixSteps(this.#mix, this.#lengths(), count);
  }

  /** The loaders by name. Of one that is previewed at epoch 0, the first epoch begins with the preview. */
  get loaders(): readonly { readonly name: string; readonly loader: PreviewedLoader }[] {
    return this.#tracks;
  }

  begin(epoch: number, seed: number): void {
    this.#key = { epoch, seed };
    this.#order = mixStart;
    this.#source = undefined;
    this.#peeked = undefined;
    for (const track of this.#tracks) this.#beginPass(track, 0);
  }

  /**
   * The loader of the next batch, or undefined at the end. Exact: a loader of unknown length is read one batch ahead for
   * it. With `from`, one more batch of that loader is meant (a step whose batches must come from one): undefined when
   * it has none left, though others may.
   */
  peek(from?: number): MaybePromise<number | undefined> {
    // Asked twice for each batch, by the loop and by `next`: the answer holds until a batch is drawn.
    const known = this.#peeked;
    if (known !== undefined && known.from === from) return known.index;
    return chain(this.#lookAhead(), () => {
      const lanes = this.#tracks.map((track) => ({ more: hasMore(track), passes: track.passes }));
      const index = choose(this.#mix, this.#order, lanes, this.#key, from);
      this.#peeked = { from, index };
      return index;
    });
  }

  /** The next batch, from the loader that `peek` with the same argument told. */
  next(from?: number): MaybePromise<HostBatch | undefined> {
    return this.#draw(from, undefined, (track) => {
      const { ahead } = track;
      track.ahead = undefined;
      return ahead ? ahead.batch : track.loader.next();
    });
  }

  /** The same for one of several processes: its rows alone. */
  nextShare(part: Part, from?: number): MaybePromise<Share | undefined> {
    return this.#draw(from, undefined, (track) => {
      const { ahead, name, loader } = track;
      track.ahead = undefined;
      return ahead ? ahead.batch && shareOf(ahead.batch, name, part) : loader.nextShare(part.rank, part.size);
    });
  }

  /** Passes over the next batch; false at the end. */
  skip(from?: number): MaybePromise<boolean> {
    return this.#draw(from, false, (track): MaybePromise<true | undefined> => {
      const { ahead } = track;
      track.ahead = undefined;
      return ahead ? true : chain(track.loader.skip(), (found): true | undefined => found || undefined);
    });
  }

  /** The consumed position: plain data for a checkpoint. */
  state(): Json {
    const { turn, ...order } = this.#order;
    const loaders: Record<string, Json> = {};
    for (const { name, loader, passes, ahead } of this.#tracks) {
      const { epoch, batches, samples } = ahead?.before ?? loader.state();
      loaders[name] = { passes, epoch, batches, samples };
    }
    return { epoch: this.#key.epoch, ...order, turn: this.names[turn]!, loaders };
  }

  /** Goes to a saved position. Call after `begin`, which gives the seed. */
  load(state: Json): MaybePromise<void> {
    const { epoch, turn, loaders, batches, draws, row } = this.#checkSaved(state);
    this.begin(epoch, this.#key.seed);
    this.#order = { batches, draws, row, turn: this.names.indexOf(turn) };
    const loading = this.#tracks.map((track) => {
      const { passes, ...position } = loaders[track.name]!;
      if (passes > 0) this.#beginPass(track, passes);
      track.given = position.batches;
      return track.loader.load(position);
    });
    return chain(all(loading), () => {});
  }

  async close(): Promise<void> {
    await all(this.#tracks.map((track) => track.loader.close()));
  }

  #lengths(): (number | undefined)[] {
    return this.#tracks.map(({ loader }) => loader.length);
  }

  #beginPass(track: Track, passes: number): void {
    track.passes = passes;
    track.given = 0;
    track.ahead = undefined;
    track.loader.begin(passEpoch(this.#key.epoch, passes), this.#key.seed);
  }

  #lookAhead(): MaybePromise<unknown> {
    const waiting = this.#tracks.filter(({ loader, ahead }) => loader.length === undefined && ahead === undefined);
    if (waiting.length === 0) return undefined;
    const reading = waiting.map((track) => {
      const before = track.loader.state();
      return chain(track.loader.next(), (batch) => {
        track.ahead = { batch, before };
      });
    });
    return all(reading);
  }

  #draw<T, E>(
    from: number | undefined,
    end: E,
    take: (track: Track) => MaybePromise<T | undefined>,
  ): MaybePromise<T | E> {
    return chain(this.peek(from), (index) => {
      if (index === undefined) return end;
      this.#peeked = undefined;
      const track = this.#tracks[index]!;
      if (!hasMore(track)) this.#beginPass(track, track.passes + 1);
      return chain(take(track), (taken) => {
        if (taken === undefined) {
          throw new DataError(
            `Loader \`${track.name}\` ended after ${track.given} batches, but its \`length\` is ${track.loader.length}.`,
          );
        }
        track.given++;
        this.#order = advance(this.#order, index, from !== undefined, this.#mix.shares);
        this.#source = index;
        return taken;
      });
    });
  }

  #checkSaved(state: Json): SavedSet {
    const saved = state as unknown as SavedSet;
    const names = Object.keys(saved?.loaders ?? {});
    if (names.length !== this.names.length || !this.names.every((name) => names.includes(name))) {
      throw new DataError(
        `The saved data position is of loaders ${names.join(", ") || "(none)"}, but this run has ${this.names.join(", ")}. Resume with the same loaders.`,
      );
    }
    return saved;
  }
}
