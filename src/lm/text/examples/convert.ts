// Lines of a file as token ids and labels, with what is wrong with each line that cannot be used.
import { DataError } from "../../../core/errors.ts";
import { messageOf } from "../../../core/maybe.ts";
import { safeLine } from "../../../core/safe-text.ts";
import type { TextProcessor, Tick } from "../text-processor.ts";
import { checkExample, type Example, type ExampleKind, type Prompt } from "./kinds.ts";
import { type Counting, type Pieces, piecesOf } from "./turns.ts";

/** A label that does not count. */
export const IGNORED = -100;

/** Some lines of a file, as plain data. */
export interface Lines {
  /** The number of the first, from 1. */
  readonly first: number;
  readonly texts: readonly string[];
  /** The kind of the file; undefined where no line tells it. */
  readonly kind: ExampleKind | undefined;
  readonly loss: Counting | undefined;
  /** In place of the tokenizer's own. */
  readonly template: string | undefined;
  /** Ids are below this. */
  readonly vocabularySize: number;
}

/** Token sequences one after the other. A preference makes two of them: what is chosen, and what is rejected. */
export interface Converted {
  readonly ids: Int32Array;
  /** For each token itself, not the next: its id where it counts, else -100. */
  readonly labels: Int32Array;
  readonly lengths: readonly number[];
  /** The line of each sequence. */
  readonly lines: readonly number[];
  readonly problems: readonly Problem[];
  /** Answers that end without a special token: the model does not learn to stop after them. */
  readonly unended: number;
}

export interface Problem {
  readonly line: number;
  readonly message: string;
}

/** What of a `TextProcessor` makes examples; absent where the data has ids already. */
type Processor = Pick<TextProcessor, "facts" | "encode" | "template" | "endsSpecial">;

interface Sequence {
  readonly ids: readonly number[];
  readonly labels: readonly number[];
}

export function convertLines(processor: Processor | undefined, lines: Lines, tick: Tick): Converted {
  const made: (Sequence & { readonly line: number })[] = [];
  const problems: Problem[] = [];
  const converter = new Converter(processor, lines);
  for (const [i, text] of lines.texts.entries()) {
    const line = lines.first + i;
    if (text.trim() === "") continue;
    tick(text.length, line);
    try {
      const example = converter.read(text);
      for (const sequence of converter.sequencesOf(example)) made.push({ ...sequence, line });
    } catch (cause) {
      if (!(cause instanceof DataError)) throw cause;
      problems.push({ line, message: messageOf(cause) });
    }
  }
  const lengths = made.map(({ ids }) => ids.length);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const [ids, labels] = [new Int32Array(total), new Int32Array(total)];
  let at = 0;
  for (const sequence of made) {
    ids.set(sequence.ids, at);
    labels.set(sequence.labels, at);
    at += sequence.ids.length;
  }
  return { ids, labels, lengths, lines: made.map(({ line }) => line), problems, unended: converter.unended };
}

class Converter {
  unended = 0;
  readonly #processor: Processor | undefined;
  readonly #settings: Lines;

  constructor(processor: Processor | undefined, settings: Lines) {
    this.#processor = processor;
    this.#settings = settings;
  }

  read(text: string): Example {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (cause) {
      throw new DataError(`this line is not JSON: ${safeLine(messageOf(cause))}`, { cause });
    }
    return checkExample(value, this.#settings.kind, this.#templateText());
  }

  #templateText(): string {
    const { template } = this.#settings;
    if (template !== undefined || this.#processor === undefined) return template ?? "";
    try {
      return this.#processor.template(undefined, undefined).source;
    } catch {
      // Data without conversations needs none.
      return "";
    }
  }

  sequencesOf(example: Example): readonly Sequence[] {
    const sequences = this.#made(example);
    for (const { ids, labels } of sequences) {
      const size = this.#settings.vocabularySize;
      const odd = ids.findIndex((id) => id < 0 || id >= size);
      if (odd >= 0) throw new DataError(`id ${ids[odd]} at ${odd} is not in the vocabulary of ${size}.`);
      const oddLabel = labels.findIndex((label) => label !== IGNORED && (label < 0 || label >= size));
      if (oddLabel >= 0)
        throw new DataError(`label ${labels[oddLabel]} at ${oddLabel} is neither an id of the vocabulary nor -100.`);
      if (labels.every((label, i) => i === 0 || label === IGNORED))
        throw new DataError("nothing of it counts: there is no token to predict.");
    }
    return sequences;
  }

  #made(example: Example): readonly Sequence[] {
    if (example.kind === "ids") return [{ ids: example.ids, labels: example.labels ?? example.ids }];
    if (example.kind === "text") return [this.#textSequence([{ text: example.text, counts: true }])];
    const { tools } = example;
    if (example.kind === "messages") return this.#conversation(example.messages, tools, 0);
    if (example.kind === "completion") return this.#answer(example.prompt, example.completion, tools);
    const { prompt, chosen, rejected } = example;
    const pair = [this.#answer(prompt, chosen, tools), this.#answer(prompt, rejected, tools)];
    if (pair.some((each) => each.length !== 1))
      throw new DataError(
        "the chat template writes earlier answers otherwise, so `chosen` and `rejected` must have one answer each.",
      );
    return pair.flat();
  }

  #answer(prompt: Prompt, completion: Prompt, tools: readonly object[] | undefined): readonly Sequence[] {
    if (typeof prompt !== "string" && typeof completion !== "string")
      return this.#conversation([...prompt, ...completion], tools, prompt.length);
    const all = this.#settings.loss === "all";
    return [
      this.#textSequence([
        { text: prompt as string, counts: all },
        { text: completion as string, counts: true },
      ]),
    ];
  }

  /** A text between the tokens that begin and end one. */
  #textSequence(pieces: Pieces): Sequence {
    const { prefix, eosId } = this.#need().facts;
    const end = eosId === undefined ? [] : [eosId];
    if (eosId === undefined) this.unended++;
    return this.#encoded(pieces, prefix, end);
  }

  #conversation(
    messages: Parameters<typeof piecesOf>[0],
    tools: readonly object[] | undefined,
    promptLength: number,
  ): readonly Sequence[] {
    const processor = this.#need();
    const { loss = "assistant", template } = this.#settings;
    const endsSpecial = (text: string): boolean => processor.endsSpecial(text);
    const settings = { template: processor.template(tools, template), tools, loss, promptLength, endsSpecial };
    return piecesOf(messages, settings).map((pieces) => {
      if (loss !== "all" && !endsSpecial(pieces.at(-1)!.text)) this.unended++;
      return this.#encoded(pieces, [], []);
    });
  }

  /** The pieces are tokenized apart, as they are when the model is asked: first the prompt, then its own tokens. */
  #encoded(pieces: Pieces, before: readonly number[], after: readonly number[]): Sequence {
    const processor = this.#need();
    const [ids, labels]: [number[], number[]] = [[...before], []];
    // A token that begins a text is never predicted, except where all counts.
    for (const id of before) labels.push(pieces[0]!.counts ? id : IGNORED);
    for (const [i, { text, counts }] of pieces.entries()) {
      for (const id of processor.encode(text, false, i > 0)) {
        ids.push(id);
        labels.push(counts ? id : IGNORED);
      }
    }
    for (const id of after) {
      ids.push(id);
      labels.push(id);
    }
    return { ids, labels };
  }

  #need(): Processor {
    if (this.#processor) return this.#processor;
    throw new DataError("a text needs a tokenizer, and this data is read without one.");
  }
}
