// A loader whose first batch can be looked at before an epoch uses it. The batch is kept and handed out again, because
// many sources can be read only once: generators, sockets, queues.
import type { HostBatch, Loader, LoaderState, MaybePromise, Share } from "../core/model.ts";
import { chain } from "../core/maybe.ts";
import { nextShare, shareOf } from "./share.ts";

interface Preview {
  readonly epoch: number;
  readonly seed: number;
  readonly batch: HostBatch | undefined;
  /** The loader's position after the preview. If it differs later, somebody else has used the loader. */
  readonly after: LoaderState | undefined;
}

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

  /** The first batch of an epoch; undefined when the epoch is empty. The next `begin` with these arguments starts there. */
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
