// readExamples: JSON lines of conversations, prompts, texts or ids as rows to train a language model on.
import { DataError, OptionError } from "../../../core/errors.ts";
import { quiet } from "../../../core/maybe.ts";
import type { Loader, MaybePromise } from "../../../core/model.ts";
import { checkOptions, is, show } from "../../../core/options.ts";
import { permutation } from "../../../data/random.ts";
import { openFile, type TableFile } from "../../../data/table/file.ts";
import { textLines } from "../../../data/table/json-lines.ts";
import { utf8Blocks } from "../../../data/table/text-blocks.ts";
import { LoadedTokenizer, type Tokenizer } from "../tokenizer.ts";
import { type Converted, convertLines, IGNORED, type Lines, type Problem } from "./convert.ts";
import { fitSequences, type Sequence } from "./fit.ts";
import { type ExampleKind, kindOf } from "./kinds.ts";
import { EXAMPLES_CHECKS, type ReadExamplesOptions } from "./options.ts";
import { packedRows, paddedRows, pairRows, type RowLoaderOptions } from "./rows.ts";
import { describeStatistics, type ExampleStatistics, statisticsOf } from "./statistics.ts";

/** A language model as far as its data is concerned. */
export interface TextModel {
  readonly tokenizer: Tokenizer;
  readonly architecture: { readonly vocabularySize: number; readonly contextLength?: number };
}

/** Examples as rows of tokens. */
export interface Examples {
  readonly kind: ExampleKind;
  readonly statistics: ExampleStatistics;
  /** The statistics in words. */
  summary(): string;
  /** Training rows, in a new order every epoch. */
  loader(options: RowLoaderOptions): Loader;
  /** The rows kept for validation; undefined without `val`. */
  validationLoader(options: RowLoaderOptions): Loader | undefined;
}

const OWNER = "readExamples";

/**
 * Reads a file of JSON lines, also packed with gzip. Each line is a conversation (`messages`), a `prompt` with its
 * `completion`, a `text`, a preference (`prompt`, `chosen`, `rejected`) or `ids`.
 * @param file a path, an address, a File of a browser, a Response, a stream of bytes or `{ text }`
 * @example const data = await readExamples("tickets.jsonl", model, { length: 512, val: 0.05 });
 */
export async function readExamples(
  file: TableFile,
  model: TextModel | Tokenizer,
  options: ReadExamplesOptions = {},
): Promise<Examples> {
  checkOptions(OWNER, options, { ...EXAMPLES_CHECKS, onProgress: is.function });
  const { pack = true, val = 0, seed = 0 } = options;
  const length = rowLength(model, options.length);
  const source = openFile(OWNER, file);
  const reading = new Reading(source.name, model, options);
  const text = utf8Blocks(source.blocks(), source.name, undefined);
  for await (const texts of textLines(text, source.name)) await reading.add(texts);
  const { kind, sequences, unended } = await reading.finish();

  const tooLong = options.tooLong ?? (kind === "text" ? "split" : "cut");
  if (tooLong === "split" && kind !== "text") {
    throw new OptionError(
      `${OWNER}: tooLong: "split" is for \`text\`. The rest of an answer would lack what comes before it.`,
    );
  }
  const group = kind === "preference" ? 2 : 1;
  const fitted = fitSequences(sequences, { length, tooLong, group, source: source.name });
  if (fitted.sequences.length === 0) {
    throw new DataError(`${source.name}: no example is left: ${fitted.dropped} were too long for ${length} tokens.`);
  }
  const isPacked = pack && kind !== "preference";
  const make = kind === "preference" ? pairRows : isPacked ? packedRows : paddedRows;
  const settings = { length, padId: padIdOf(model) };
  const isKept = validationLines(fitted.sequences, val, seed);
  const train = make(
    fitted.sequences.filter(({ line }) => !isKept.has(line)),
    settings,
  );
  const kept = fitted.sequences.filter(({ line }) => isKept.has(line));
  const validation = kept.length === 0 ? undefined : make(kept, settings);
  const examples = new Set(sequences.map(({ line }) => line)).size;
  const statistics = statisticsOf({ kind, examples, unended, length }, fitted, train, validation);
  return {
    kind,
    statistics,
    summary: () => describeStatistics(statistics, isPacked, tooLong),
    loader: (given) => train.loader({ shuffle: true, ...given }),
    validationLoader: (given) => validation?.loader({ shuffle: false, ...given }),
  };
}

/** Tokens in a row. */
function rowLength(model: TextModel | Tokenizer, asked: number | undefined): number {
  const { contextLength = Infinity } = isTokenizer(model) ? {} : model.architecture;
  if (asked === undefined) return Math.min(512, contextLength);
  if (asked <= contextLength) return asked;
  throw new OptionError(
    `${OWNER}: \`length\` is ${asked}, but the model reads at most ${contextLength} tokens (its context).`,
    { option: "length" },
  );
}

/** Whole lines, so that nothing of a conversation is on both sides. */
function validationLines(sequences: readonly Sequence[], val: number, seed: number): ReadonlySet<number> {
  if (val === 0) return new Set();
  const lines = [...new Set(sequences.map(({ line }) => line))];
  const count = Math.round(val * lines.length);
  if (count === 0 || count === lines.length) {
    throw new OptionError(
      `${OWNER}: \`val\` ${val} of ${lines.length} examples leaves ${count === 0 ? "none for validation" : "none to train on"}.`,
    );
  }
  return new Set([...permutation(lines.length, seed, 0).subarray(0, count)].map((i) => lines[i]!));
}

/** Any token does: its labels do not count, and no other token sees it. */
function padIdOf(model: TextModel | Tokenizer): number {
  if (!isTokenizer(model)) return 0;
  return model.padId ?? model.eosId ?? 0;
}

const isTokenizer = (model: TextModel | Tokenizer): model is Tokenizer => "encode" in model;

/** Problems that are collected before reading ends. */
const MOST_PROBLEMS = 20;
/** Characters that the thread gets at a time. */
const BATCH_CHARACTERS = 2 ** 16;
/** Batches that the thread may have: with two it never waits. */
const BATCHES_AHEAD = 2;

interface AllSequences {
  readonly kind: ExampleKind;
  readonly sequences: readonly Sequence[];
  readonly unended: number;
}

/** Collects lines, has them converted beside reading, and keeps what they gave. */
class Reading {
  readonly #source: string;
  readonly #model: TextModel | Tokenizer;
  readonly #options: ReadExamplesOptions;
  readonly #sequences: Sequence[] = [];
  readonly #problems: Problem[] = [];
  readonly #running: Promise<void>[] = [];
  #kind: ExampleKind | undefined;
  #unended = 0;
  #tokens = 0;
  #examples = 0;
  #lines = 0;
  #texts: string[] = [];
  #characters = 0;

  constructor(source: string, model: TextModel | Tokenizer, options: ReadExamplesOptions) {
    this.#source = source;
    this.#model = model;
    this.#options = options;
  }

  async add(texts: readonly string[]): Promise<void> {
    for (const text of texts) {
      this.#texts.push(text);
      this.#characters += text.length;
      if (this.#characters >= BATCH_CHARACTERS) await this.#send();
    }
  }

  async finish(): Promise<AllSequences> {
    await this.#send();
    await Promise.all(this.#running);
    this.#throwProblems();
    if (this.#kind === undefined) throw new DataError(`${this.#source} is empty: it has no lines.`);
    return { kind: this.#kind, sequences: this.#sequences, unended: this.#unended };
  }

  async #send(): Promise<void> {
    const { loss, template } = this.#options;
    const lines: Lines = {
      first: this.#lines + 1,
      texts: this.#texts,
      kind: this.#kind ?? firstKind(this.#texts),
      loss,
      template,
      vocabularySize: isTokenizer(this.#model) ? this.#model.vocabularySize : this.#model.architecture.vocabularySize,
    };
    this.#kind = lines.kind;
    this.#lines += this.#texts.length;
    [this.#texts, this.#characters] = [[], 0];
    const running = this.#convert(lines);
    // It is awaited later, perhaps after another error.
    quiet(running);
    this.#running.push(running);
    if (this.#running.length >= BATCHES_AHEAD) await this.#running.shift();
    if (this.#problems.length >= MOST_PROBLEMS) this.#throwProblems();
  }

  async #convert(lines: Lines): Promise<void> {
    this.#take(await this.#converted(lines));
    this.#options.onProgress?.({ lines: this.#lines, examples: this.#examples, tokens: this.#tokens });
  }

  /** Ids need no tokenizer, so its packages may be missing. */
  #converted(lines: Lines): MaybePromise<Converted> {
    if (lines.kind === "ids") return convertLines(undefined, lines, () => {});
    const tokenizer = isTokenizer(this.#model) ? this.#model : this.#model.tokenizer;
    if (tokenizer instanceof LoadedTokenizer) return tokenizer.convert(lines);
    throw new OptionError(
      `${OWNER}: expected a language model or a tokenizer of \`loadTokenizer\`, got ${show(tokenizer)}.`,
    );
  }

  #take({ ids, labels, lengths, lines, problems, unended }: Converted): void {
    this.#unended += unended;
    this.#problems.push(...problems);
    this.#tokens += ids.length;
    this.#examples += new Set(lines).size;
    let at = 0;
    for (const [i, size] of lengths.entries()) {
      // A token predicts the next one, so the last of a text predicts nothing and needs no place in a row. Tokens after the
      // last label that counts would be computed for nothing.
      let end = at + size;
      while (end > at && labels[end - 1] === IGNORED) end--;
      this.#sequences.push({ x: ids.subarray(at, end - 1), y: labels.subarray(at + 1, end), line: lines[i]! });
      at += size;
    }
  }

  #throwProblems(): void {
    if (this.#problems.length === 0) return;
    const shown = this.#problems
      .slice(0, MOST_PROBLEMS)
      .map(({ line, message }) => `${this.#source}:${line}: ${message}`);
    const more =
      this.#problems.length > MOST_PROBLEMS ? `\nThere are more; reading stopped after line ${this.#lines}.` : "";
    throw new DataError(shown.join("\n") + more);
  }
}

/** The kind of the first line that tells one. A line that does not is among the problems later. */
function firstKind(texts: readonly string[]): ExampleKind | undefined {
  for (const text of texts) {
    try {
      return kindOf(JSON.parse(text) as Readonly<Record<string, unknown>>);
    } catch {
      // Not JSON, empty, or of no kind.
    }
  }
  return undefined;
}
