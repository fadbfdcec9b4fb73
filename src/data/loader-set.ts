// All loaders of a phase as one: which loader gives the next batch, the batch itself, and the position to resume from.
import { DataError } from "../core/errors.ts";
import type { Json } from "../core/options.ts";
import type { HostBatch, Loader, LoaderState, MaybePromise, Share } from "../core/model.ts";
import { all, chain } from "../core/maybe.ts";
import { type Mix, type MixOptions, readLoaders, readMix } from "./mix.ts";
import { Rng } from "./random.ts";
import { type Part, nextShare, shareOf } from "./share.ts";

/** One loader of the set, and the state of its current pass. */
interface Track {
  readonly name: string;
  readonly loader: PreviewedLoader;
  /** Passes finished in this epoch. */
  passes: number;
  /** Batches consumed in this pass. */
  given: number;
  /** Only for a loader of unknown length: the next batch (undefined at the end), and the position before it. */
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

/**
 * One loader, named "train", or several by name, in the order that `mix` says. Calls must not overlap.
 * @example new LoaderSet({ web, books }, { strategy: "weighted", weights: { web: 3, books: 1 } })
 */
export class LoaderSet {
  readonly names: readonly string[];
  readonly #tracks: readonly Track[];
  readonly mix: Mix;
  #key = { epoch: 0, seed: 0 };
  #order: MixState = mixStart;
  #source: number | undefined;
  #peeked: { readonly from: number | undefined; readonly index: number | undefined } | undefined;

  constructor(train: Loader | Readonly<Record<string, Loader>>, mix?: MixOptions) {
    const loaders = Object.entries(readLoaders(train));
    this.names = loaders.map(([name]) => name);
    this.mix = readMix(this.names, mix);
    this.#tracks = loaders.map(([name, loader]) => ({
      name,
      loader: new PreviewedLoader(name, loader),
      passes: 0,
      given: 0,
    }));
  }

  /** Which loader the last batch came from. */
  get source(): number | undefined {
    return this.#source;
  }

  /** The loaders by name. The first epoch of a loader that was previewed begins with the preview. */
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
   * The loader of the next batch, or undefined at the end. This is exact: a loader of unknown length is read one batch
   * ahead. With `from`, it asks for one more batch of that loader, for a step whose batches must come from one loader:
   * undefined when that loader has none left, though others may.
   */
  peek(from?: number): MaybePromise<number | undefined> {
    // Called twice for each batch, by the loop and by `next`: the answer holds until a batch is drawn.
    const known = this.#peeked;
    if (known !== undefined && known.from === from) return known.index;
    return chain(this.#lookAhead(), () => {
      const lanes = this.#tracks.map((track) => ({ more: hasMore(track), passes: track.passes }));
      const index = choose(this.mix, this.#order, lanes, this.#key, from);
      this.#peeked = { from, index };
      return index;
    });
  }

  /** The next batch, from the loader that `peek` returned for the same argument. */
  next(from?: number): MaybePromise<HostBatch | undefined> {
    return this.#draw(from, undefined, (track) => {
      const { ahead } = track;
      track.ahead = undefined;
      return ahead ? ahead.batch : track.loader.next();
    });
  }

  /** Gives the arrays of the last batch back to its loader. */
  reuse(batch: HostBatch): void {
    if (this.#source !== undefined) this.#tracks[this.#source]!.loader.reuse(batch);
  }

  /** The next batch for one rank of a process group: only its rows. */
  nextShare(part: Part, from?: number): MaybePromise<Share | undefined> {
    return this.#draw(from, undefined, (track) => {
      const { ahead, name, loader } = track;
      track.ahead = undefined;
      return ahead ? ahead.batch && shareOf(ahead.batch, name, part) : loader.nextShare(part.rank, part.size);
    });
  }

  /** Skips the next batch; false at the end. */
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
        this.#order = advance(this.#order, index, from !== undefined, this.mix.shares);
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

/** The facts about a loader that the order of a mix depends on. */
export interface Lane {
  /** Whether the current pass has another batch. */
  readonly more: boolean;
  /** Passes finished before the current one. */
  readonly passes: number;
}

/** The position in the order of a mix. */
export interface MixState {
  /** Batches of this epoch so far. */
  readonly batches: number;
  /** Draws so far; further batches of a step that must come from one loader belong to its first draw. */
  readonly draws: number;
  /** The loader of the last draw, and how many draws in a row it had. */
  readonly turn: number;
  readonly row: number;
}

export const mixStart: MixState = { batches: 0, draws: 0, turn: 0, row: 0 };

function byWeight(usable: readonly boolean[], weights: readonly number[], rng: Rng): number {
  const total = weights.reduce((sum, weight, i) => sum + (usable[i] ? weight : 0), 0);
  let left = rng.next() * total;
  let last = -1;
  for (const [i, weight] of weights.entries()) {
    if (!usable[i]) continue;
    last = i;
    left -= weight;
    if (left < 0) break;
  }
  return last;
}

/** The loader of the next batch, or undefined at the end. `from` asks for one more from that loader. */
export function choose(
  mix: Mix,
  state: MixState,
  lanes: readonly Lane[],
  key: { readonly epoch: number; readonly seed: number },
  from?: number,
): number | undefined {
  const { length, strategy, shares } = mix;
  if (typeof length === "number" && state.batches >= length) return undefined;
  if (length === "max" && lanes.every((lane) => lane.passes > 0 || !lane.more)) return undefined;
  if (length === "sum" && !lanes.some((lane) => lane.more)) return undefined;
  const restarts = length === "max" || typeof length === "number";
  if (from !== undefined) return restarts || lanes[from]!.more ? from : undefined;
  // Under "min" a loader at its end still gets its turn, which ends the epoch.
  const usable = lanes.map((lane) => restarts || length === "min" || lane.more);
  const { turn, row } = state;
  let next = turn;
  if (strategy === "weighted") next = byWeight(usable, shares, new Rng(mix.seed ?? key.seed, key.epoch, state.draws));
  else if (row >= shares[turn]! || !(strategy === "sequential" ? lanes[turn]!.more : usable[turn])) {
    do next = (next + 1) % lanes.length;
    while (!usable[next]);
  }
  return length === "min" && !lanes[next]!.more ? undefined : next;
}

/** The position after a batch from loader `index`; `held` when that loader was requested by name. */
export function advance(state: MixState, index: number, held: boolean, shares: readonly number[]): MixState {
  const batches = state.batches + 1;
  if (held) return { ...state, batches };
  const again = index === state.turn && state.row < shares[index]!;
  return { batches, draws: state.draws + 1, turn: index, row: again ? state.row + 1 : 1 };
}

interface Preview {
  readonly epoch: number;
  readonly seed: number;
  readonly batch: HostBatch | undefined;
  /** The loader's position after the preview. If it differs later, somebody else has used the loader. */
  readonly after: LoaderState | undefined;
}

/**
 * A loader whose first batch can be looked at before an epoch uses it. The batch is kept and returned again, because many
 * sources can be read only once: generators, sockets, queues.
 */
export class PreviewedLoader implements Loader {
  readonly #name: string;
  readonly #loader: Loader;
  #preview: Preview | undefined;
  /** True between `begin` and the first read, when that read returns the previewed batch. */
  #replays = false;

  constructor(name: string, loader: Loader) {
    this.#name = name;
    this.#loader = loader;
  }

  get length(): number | undefined {
    return this.#loader.length;
  }

  /** The first batch of an epoch; undefined when it is empty. The next `begin` with these arguments starts with it. */
  preview(epoch: number, seed: number): MaybePromise<HostBatch | undefined> {
    if (this.#isAt(epoch, seed)) return this.#preview!.batch;
    this.#loader.begin(epoch, seed);
    return chain(this.#loader.next(), (batch) => {
      this.#preview = { epoch, seed, batch, after: this.#position() };
      return batch;
    });
  }

  /** Closes the loader if no epoch has begun with the preview. */
  async release(): Promise<void> {
    if (this.#preview === undefined || this.#replays) return;
    this.#forget();
    await this.#loader.close?.();
  }

  begin(epoch: number, seed: number): void {
    this.#replays = this.#isAt(epoch, seed);
    if (this.#replays) return;
    this.#forget();
    this.#loader.begin(epoch, seed);
  }

  next(): MaybePromise<HostBatch | undefined> {
    return this.#replays ? this.#take() : this.#loader.next();
  }

  reuse(batch: HostBatch): void {
    this.#loader.reuse?.(batch);
  }

  nextShare(rank: number, size: number): MaybePromise<Share | undefined> {
    const part = { rank, size };
    if (!this.#replays) return nextShare(this.#loader, this.#name, part);
    const batch = this.#take();
    return batch && shareOf(batch, this.#name, part);
  }

  skip(): MaybePromise<boolean> {
    return this.#replays ? this.#take() !== undefined : this.#loader.skip();
  }

  state(): LoaderState {
    return this.#replays ? { epoch: this.#preview!.epoch, batches: 0, samples: 0 } : this.#loader.state();
  }

  load(state: LoaderState): MaybePromise<void> {
    this.#forget();
    return this.#loader.load(state);
  }

  close(): MaybePromise<void> {
    this.#forget();
    return this.#loader.close?.();
  }

  #isAt(epoch: number, seed: number): boolean {
    const preview = this.#preview;
    if (preview?.epoch !== epoch || preview.seed !== seed) return false;
    const now = this.#position();
    const { after } = preview;
    return now?.epoch === after?.epoch && now?.batches === after?.batches && now?.samples === after?.samples;
  }

  /** A loader written by hand may lack `state`: only checkpoints need it. */
  #position(): LoaderState | undefined {
    return (this.#loader as Partial<Loader>).state?.();
  }

  #take(): HostBatch | undefined {
    const batch = this.#preview?.batch;
    this.#forget();
    return batch;
  }

  #forget(): void {
    this.#preview = undefined;
    this.#replays = false;
  }
}
