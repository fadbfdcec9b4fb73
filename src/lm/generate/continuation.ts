// The continuation of one prompt: tokens arrive, and its readers see them as text, at their own pace.
import type { Tokenizer } from "../text/tokenizer.ts";
import type { Sequence } from "./batch.ts";
import type { Sampler } from "./sampler.ts";
import { TextStream } from "./text-stream.ts";

/** Why a text ended: the model or a stop text ended it, it has all tokens that were asked for, or its reader has gone. */
export type FinishReason = "stop" | "length" | "cancelled";

export interface ContinuationParts {
  readonly prompt: Int32Array;
  readonly sampler: Sampler;
  readonly maxTokens: number;
  readonly stopIds: ReadonlySet<number>;
  readonly stops: readonly string[];
  /** Called where text is needed. */
  readonly tokenizer: () => Tokenizer;
  readonly signal: AbortSignal | undefined;
}

export class Continuation implements Sequence {
  readonly prompt: Int32Array;
  readonly sampler: Sampler;
  readonly #parts: ContinuationParts;
  /** Looks for stop texts. */
  readonly #watch: TextStream | undefined;
  readonly #ids: number[] = [];
  #finish: FinishReason | undefined;
  #failure: { readonly error: unknown } | undefined;
  /** Readers that wait for more. */
  #readers: (() => void)[] = [];

  constructor(parts: ContinuationParts) {
    this.#parts = parts;
    this.prompt = parts.prompt;
    this.sampler = parts.sampler;
    if (parts.stops.length > 0) this.#watch = this.#stream();
  }

  get cancelled(): boolean {
    return this.#finish === "cancelled" || this.#parts.signal?.aborted === true;
  }

  get finish(): FinishReason | undefined {
    return this.#finish;
  }

  /** All tokens so far, with the one that ended the text. */
  get ids(): readonly number[] {
    return this.#ids;
  }

  accept(id: number): boolean {
    this.#ids.push(id);
    this.#watch?.push(id);
    if (this.#parts.stopIds.has(id) || this.#watch?.stopped) this.#finish = "stop";
    else if (this.#ids.length >= this.#parts.maxTokens) this.#finish = "length";
    this.#wake();
    return this.#finish === undefined;
  }

  /** Nothing follows, for this reason. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#wake();
  }

  /** The batch has let it go. */
  ended(): void {
    const { signal } = this.#parts;
    if (signal?.aborted && this.#finish === undefined) this.fail(signal.reason);
    this.#finish ??= "cancelled";
    this.#wake();
  }

  /** Nobody reads any more. */
  cancel(): void {
    this.#finish ??= "cancelled";
    this.#wake();
  }

  async *pieces(): AsyncGenerator<string> {
    const stream = this.#stream();
    for (let at = 0; ;) {
      if (at < this.#ids.length) {
        const piece = stream.push(this.#ids[at++]!);
        if (piece !== "") yield piece;
      } else if (this.#failure) throw this.#failure.error;
      else if (this.#finish) break;
      else await this.#change();
    }
    const rest = stream.end();
    if (rest !== "") yield rest;
  }

  /** Waits for the end. */
  async settled(): Promise<void> {
    while (!this.#failure && !this.#finish) await this.#change();
    if (this.#failure) throw this.#failure.error;
  }

  #stream(): TextStream {
    return new TextStream(this.#parts.tokenizer(), this.prompt, this.#parts.stops);
  }

  #change(): Promise<void> {
    return new Promise((resolve) => void this.#readers.push(resolve));
  }

  #wake(): void {
    for (const resolve of this.#readers.splice(0)) resolve();
  }
}
