// generate: prompts in, text out, piece by piece.
import { checkGenerateOptions, type GenerateOptions, type Prompt, promptsOf } from "./options.ts";
import type { Continuation } from "./continuation.ts";
import { generatorFor, type GeneratesText } from "./generator.ts";

/** A text that is being written: its pieces as they come, or as a whole. Nothing is computed until one of them is asked for. */
export interface Generation extends AsyncIterable<string> {
  text(): Promise<string>;
  /** The tokens that were added to the prompt, with the one that ended the text. */
  ids(): Promise<Int32Array>;
}

/** Several texts that are written at the same time. */
export interface Generations extends AsyncIterable<{ readonly prompt: number; readonly text: string }> {
  /** By prompt. */
  text(): Promise<string[]>;
  ids(): Promise<Int32Array[]>;
}

/**
 * Continues a prompt, or several at the same time. With a trainer, or within a hook, the parameters on the engine are used
 * as they are; a model gets an engine for the call, and `generator` keeps one for many calls. Leaving the loop, or
 * aborting `signal`, ends the generation.
 * @example for await (const piece of generate(model, "Once upon a time")) process.stdout.write(piece);
 */
export function generate(of: GeneratesText, prompt: Prompt, options?: GenerateOptions): Generation;
export function generate(of: GeneratesText, prompts: readonly Prompt[], options?: GenerateOptions): Generations;
export function generate(
  of: GeneratesText,
  given: Prompt | readonly Prompt[],
  options: GenerateOptions = {},
): Generation | Generations {
  checkGenerateOptions("generate", options);
  const { prompts, isOne } = promptsOf(given);
  const { writer, isOwn } = generatorFor(of);
  const begin = async (): Promise<Continuation[]> => {
    const begun: Continuation[] = [];
    try {
      for (const [i, prompt] of prompts.entries()) begun.push(await writer.begin(prompt, options, { index: i }));
    } catch (error) {
      for (const each of begun) each.cancel();
      if (isOwn) await writer.close();
      throw error;
    }
    return begun;
  };
  let started: Promise<Continuation[]> | undefined;
  let ending: Promise<void> | undefined;
  /** Calls `read` with the continuations, and frees everything when all have ended. */
  async function* reading<T>(read: (all: readonly Continuation[]) => AsyncIterable<T>): AsyncGenerator<T> {
    const all = await (started ??= begin());
    try {
      yield* read(all);
    } finally {
      for (const each of all) each.cancel();
      if (isOwn) await (ending ??= writer.close());
    }
  }
  const texts = (): Promise<string[]> =>
    only(
      reading(async function* (all) {
        yield await Promise.all(all.map((each) => joined(each.pieces())));
      }),
    );
  const ids = (): Promise<Int32Array[]> =>
    only(
      reading(async function* (all) {
        await Promise.all(all.map((each) => each.settled()));
        yield all.map((each) => Int32Array.from(each.ids));
      }),
    );
  if (isOne)
    return {
      text: async () => (await texts())[0]!,
      ids: async () => (await ids())[0]!,
      [Symbol.asyncIterator]: () => reading(([only]) => only!.pieces()),
    };
  return { text: texts, ids, [Symbol.asyncIterator]: () => reading(merged) };
}

async function joined(pieces: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const piece of pieces) text += piece;
  return text;
}

async function only<T>(values: AsyncIterable<T>): Promise<T> {
  let last: T;
  for await (const value of values) last = value;
  return last!;
}

/** Pieces of all texts in the order in which they come. */
async function* merged(all: readonly Continuation[]): AsyncGenerator<{ prompt: number; text: string }> {
  const readers = all.map((each) => each.pieces());
  const next = (prompt: number) => readers[prompt]!.next().then((result) => ({ prompt, result }));
  const waiting = new Map(readers.map((_, prompt) => [prompt, next(prompt)]));
  while (waiting.size > 0) {
    const { prompt, result } = await Promise.race(waiting.values());
    if (result.done) waiting.delete(prompt);
    else {
      waiting.set(prompt, next(prompt));
      yield { prompt, text: result.value };
    }
  }
}
