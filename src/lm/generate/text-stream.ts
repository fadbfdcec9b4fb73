// Tokens become text as they come: a token may be a part of a character, and a stop text may span several tokens.
import type { Tokenizer } from "../text/tokenizer.ts";

/** What a text decoder shows of bytes that are no whole character. */
const INCOMPLETE = "\uFFFD";
/** A character has at most four bytes, so more tokens than these will not complete it. */
const MOST_INCOMPLETE = 4;
/** Tokens of the prompt before the text: a tokenizer may write the first word of a text without its space. */
const BEFORE = 4;

export class TextStream {
  readonly #tokenizer: Tokenizer;
  readonly #stops: readonly string[];
  /** Those whose text is `#known`, and those that came after. */
  #ids: number[];
  #known: string;
  #after = 0;
  /** Text that may be the beginning of a stop text. */
  #held = "";
  #stopped = false;

  constructor(tokenizer: Tokenizer, prompt: ArrayLike<number>, stops: readonly string[] = []) {
    this.#tokenizer = tokenizer;
    this.#stops = stops;
    this.#ids = Array.from(prompt).slice(-BEFORE);
    this.#known = this.#decode();
  }

  /** Has a stop text appeared? What follows it is no part of the text. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** The text that is certain with this token. */
  push(id: number): string {
    if (this.#stopped) return "";
    this.#ids.push(id);
    this.#after++;
    const text = this.#decode();
    if (text.endsWith(INCOMPLETE) && this.#after < MOST_INCOMPLETE) return "";
    return this.#emit(this.#advance(text));
  }

  /** The text that was held back until now: nothing follows. */
  end(): string {
    if (this.#stopped) return "";
    const piece = this.#emit(this.#advance(this.#decode()));
    const rest = this.#stopped ? "" : this.#held;
    this.#held = "";
    return piece + rest;
  }

  #decode(): string {
    return this.#ids.length === 0 ? "" : this.#tokenizer.decode(this.#ids, { skipSpecialTokens: true });
  }

  /** What `text` has more than was known; the tokens that were new are the next ones' context. */
  #advance(text: string): string {
    const piece = text.slice(this.#known.length);
    if (this.#after > 0) this.#ids = this.#ids.slice(-Math.max(this.#after, BEFORE));
    this.#known = this.#decode();
    this.#after = 0;
    return piece;
  }

  #emit(piece: string): string {
    if (this.#stops.length === 0) return piece;
    const text = this.#held + piece;
    const found = this.#stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0);
    if (found.length > 0) {
      this.#stopped = true;
      this.#held = "";
      return text.slice(0, Math.min(...found));
    }
    const keep = Math.max(...this.#stops.map((stop) => overlap(text, stop)));
    this.#held = keep === 0 ? "" : text.slice(-keep);
    return text.slice(0, text.length - keep);
  }
}

/** How much of the end of `text` is the beginning of `stop`. */
function overlap(text: string, stop: string): number {
  let size = Math.min(text.length, stop.length - 1);
  while (size > 0 && !text.endsWith(stop.slice(0, size))) size--;
  return size;
}
