// Texts that are written at the same time: each has a row of one cache, joins when a row is free, and leaves at its end.
import type { ParamsView } from "../../core/inspection.ts";
import { currentPlatform } from "../../platform/platform.ts";
import type { LanguageModel } from "../model/language-model.ts";
import { CachedRows } from "./cached-rows.ts";
import type { Sampler } from "./sampler.ts";

/** A text that is to be continued. */
export interface Sequence {
  readonly prompt: Int32Array;
  readonly sampler: Sampler;
  /** It needs no more tokens, although nobody ended it: its reader has gone. */
  readonly cancelled: boolean;
  /** Takes the next token. False: it was the last one. */
  accept(id: number): boolean;
}

interface Job {
  readonly sequence: Sequence;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  /** Tokens in the cache, and the last one, which is not. */
  length: number;
  last: number;
}

export class Batch {
  readonly #cache: CachedRows;
  readonly #mostRows: number;
  readonly #platform = currentPlatform();
  #waiting: Job[] = [];
  /** By row of the cache. */
  #active: (Job | undefined)[] = [];
  #running: Promise<void> | undefined;

  constructor(model: LanguageModel, params: ParamsView, mostRows: number) {
    this.#cache = new CachedRows(model, params);
    this.#mostRows = mostRows;
  }

  /** Sequences that have not ended. */
  get pending(): number {
    return this.#waiting.length + this.#jobs.length;
  }

  get #jobs(): Job[] {
    return this.#active.filter((job) => job !== undefined);
  }

  /** Resolves when the sequence has ended. Those that wait begin in the order of their arrival. */
  add(sequence: Sequence): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ sequence, resolve, reject, length: sequence.prompt.length, last: 0 });
      this.#running ??= this.#run();
    });
  }

  /** Settles when nothing is pending. */
  async drained(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      for (;;) {
        // Engines compute synchronously: without this, sockets, timers and signals would get no turn between two tokens.
        await this.#platform.yieldToEvents();
        this.#dropCancelled();
        if (this.pending === 0) break;
        // One prompt at a time, so that the texts that are being written do not stop for a crowd of new ones.
        await this.#admit();
        await this.#step();
      }
    } catch (error) {
      for (const job of [...this.#jobs, ...this.#waiting.splice(0)]) job.reject(error);
    }
    this.#active = [];
    this.#cache.free();
    this.#running = undefined;
  }

  #dropCancelled(): void {
    for (const job of this.#waiting) if (job.sequence.cancelled) job.resolve();
    this.#waiting = this.#waiting.filter(({ sequence }) => !sequence.cancelled);
    this.#active.forEach((job, row) => {
      if (job?.sequence.cancelled) this.#end(row);
    });
  }

  #end(row: number): void {
    this.#active[row]!.resolve();
    this.#active[row] = undefined;
  }

  async #admit(): Promise<void> {
    if (this.#waiting.length === 0 || this.#jobs.length >= this.#mostRows) return;
    await this.#fit(this.#waiting[0]);
    const job = this.#waiting.shift()!;
    const row = this.#active.indexOf(undefined);
    this.#active[row] = job;
    await this.#cache.prefill(row, job.sequence.prompt);
    await this.#take([row]);
  }

  async #step(): Promise<void> {
    if (this.#jobs.length === 0) return;
    await this.#fit();
    const rows = [...this.#active.keys()].filter((row) => this.#active[row]);
    // Rows without a text compute something that nobody reads.
    await this.#cache.step(
      this.#active.map((job) => job?.last ?? 0),
      this.#active.map((job) => job?.length ?? 0),
    );
    for (const job of this.#jobs) job.length++;
    await this.#take(rows);
  }

  /** Room for one more token of each text, and for one more text. Batches have 1, 2, 4, … rows, each size compiled once. */
  async #fit(joining?: Job): Promise<void> {
    const jobs = joining ? [...this.#jobs, joining] : this.#jobs;
    const tokens = Math.max(...jobs.map(({ length }) => length + 1));
    let rows = 1;
    while (rows < jobs.length) rows *= 2;
    rows = Math.min(rows, this.#mostRows);
    // A batch becomes smaller when most of it is unused, not at the end of each text.
    const keeps = rows <= this.#active.length && rows * 4 > this.#active.length;
    const from = keeps ? [...this.#active.keys()] : [...this.#active.keys()].filter((row) => this.#active[row]);
    while (from.length < rows) from.push(-1);
    await this.#cache.fit(from, tokens);
    if (!keeps) this.#active = from.map((row) => this.#active[row]);
  }

  /** Gives rows their next token. */
  async #take(rows: readonly number[]): Promise<void> {
    const needed = rows.map((row) => this.#active[row]!.sequence.sampler.readsLogits);
    const next = needed.includes(false) ? await this.#cache.next() : [];
    const logits = needed.includes(true) ? await this.#cache.logits() : undefined;
    for (const [i, row] of rows.entries()) {
      const job = this.#active[row]!;
      job.last = needed[i] ? job.sequence.sampler.pick(logits!(row)) : next[row]!;
      if (!job.sequence.accept(job.last)) this.#end(row);
    }
  }
}
