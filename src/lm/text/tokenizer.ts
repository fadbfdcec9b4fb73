// What the rest of lm needs of a tokenizer.

/** A tokenizer of a language model: text to token ids and back, and conversations to text. */
export interface Tokenizer {
  readonly vocabularySize: number;
  encode(text: string, options?: { addSpecialTokens?: boolean }): Int32Array;
  decode(ids: ArrayLike<number>, options?: { skipSpecialTokens?: boolean }): string;
  /** Special and ordinary tokens by their text. */
  tokenId(token: string): number | undefined;
  readonly eosId?: number;
  readonly bosId?: number;
  readonly padId?: number;
  readonly chatTemplate: string | undefined;
  /** Text of a conversation as the template renders it. */
  render(
    messages: readonly Message[],
    options?: { addGenerationPrompt?: boolean; tools?: readonly object[] },
  ): Promise<string> | string;
}

/** A message of a conversation. */
export interface Message {
  readonly role: string;
  readonly content: string;
  readonly [key: string]: unknown;
}
