// The tokenizer of a language model: its own files, read by the packages of Hugging Face.
import type { MaybePromise } from "../../core/model.ts";
import type { Rendered } from "./chat-template.ts";
import { nodeFolder } from "../load/node-folder.ts";
import type { Converted, Lines } from "./examples/convert.ts";
import type { Message } from "./messages.ts";
import { openTextRunner, type TextRunner } from "./text-runner.ts";
import { readTokenizerFiles, type TextFiles, type TokenizerFiles } from "./tokenizer-files.ts";

export type { Message } from "./messages.ts";

/** Options of `encode`. */
export interface EncodeOptions {
  /** Adds what the model expects around a text, such as a token for its beginning. Default true. */
  readonly addSpecialTokens?: boolean;
  /** The text continues another one, so a tokenizer in the manner of SentencePiece puts no space before it. Default false. */
  readonly continues?: boolean;
}

/** Options of `decode`. */
export interface DecodeOptions {
  /** Leaves out tokens such as the end of a turn. Default false. */
  readonly skipSpecialTokens?: boolean;
}

/** Options of `render`. */
export interface RenderOptions {
  /** Ends with the beginning of an answer. Default false. */
  readonly addGenerationPrompt?: boolean;
  /** Descriptions of the tools that the model may call. */
  readonly tools?: readonly object[];
}

/** Texts to ids and back, and conversations to texts. */
export interface Tokenizer {
  /** One more than the largest id. */
  readonly vocabularySize: number;
  encode(text: string, options?: EncodeOptions): Int32Array;
  decode(ids: ArrayLike<number>, options?: DecodeOptions): string;
  /** The id of a token by its text, be it special or ordinary. */
  tokenId(token: string): number | undefined;
  readonly bosId: number | undefined;
  readonly eosId: number | undefined;
  readonly padId: number | undefined;
  /** The source of the chat template, if the model has one. */
  readonly chatTemplate: string | undefined;
  /** A conversation as the model's template writes it. */
  render(messages: readonly Message[], options?: RenderOptions): MaybePromise<string>;
  /** Ends its thread. A process may also end without this. */
  close(): Promise<void>;
}

/** Reads the tokenizer of a model's folder: its path, or its files wherever they are. */
export async function loadTokenizer(from: string | TextFiles): Promise<LoadedTokenizer> {
  const files = typeof from === "string" ? await nodeFolder(from) : from;
  const read = await readTokenizerFiles(files);
  return new LoadedTokenizer(read, await openTextRunner(read));
}

/** For a model, which may do without one: what is wrong with it is thrown where it is used. */
export async function tokenizerOf(files: TextFiles): Promise<() => Tokenizer> {
  try {
    const tokenizer = await loadTokenizer(files);
    return () => tokenizer;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** A tokenizer, and what `readExamples` needs of it besides. */
export class LoadedTokenizer implements Tokenizer {
  readonly vocabularySize: number;
  readonly bosId: number | undefined;
  readonly eosId: number | undefined;
  readonly padId: number | undefined;
  readonly chatTemplate: string | undefined;
  readonly #runner: TextRunner;

  constructor(files: TokenizerFiles, runner: TextRunner) {
    this.#runner = runner;
    ({ vocabularySize: this.vocabularySize, bosId: this.bosId, eosId: this.eosId, padId: this.padId } = runner.facts);
    this.chatTemplate = files.templates.default;
  }

  encode(text: string, { addSpecialTokens = true, continues = false }: EncodeOptions = {}): Int32Array {
    return this.#runner.callSync("encode", text, addSpecialTokens, continues);
  }

  decode(ids: ArrayLike<number>, { skipSpecialTokens = false }: DecodeOptions = {}): string {
    return this.#runner.callSync("decode", Array.from(ids), skipSpecialTokens);
  }

  tokenId(token: string): number | undefined {
    return this.#runner.callSync("tokenId", token);
  }

  async render(messages: readonly Message[], options: RenderOptions = {}): Promise<string> {
    const rendered: Rendered = await this.#runner.call("render", { messages, ...options }, undefined);
    return rendered.text;
  }

  /** Lines of a file as examples. */
  convert(lines: Lines): MaybePromise<Converted> {
    return this.#runner.call("convert", lines);
  }

  close(): Promise<void> {
    return this.#runner.close();
  }
}
