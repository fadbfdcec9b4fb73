// scoreChoices: multiple-choice questions, answered by the likelihood of the choices, as lm-evaluation-harness does.
import { DataError, OptionError } from "../../core/errors.ts";
import { checkOptions, is, show } from "../../core/options.ts";
import { openFile, type TableFile } from "../../data/table/file.ts";
import { textLines } from "../../data/table/json-lines.ts";
import { utf8Blocks } from "../../data/table/text-blocks.ts";
import type { Engine } from "../../engines/engine.ts";
import type { EngineName } from "../../engines/select.ts";
import type { Trainer } from "../../trainer/trainer.ts";
import type { LanguageModel } from "../model/language-model.ts";
import { IGNORED } from "../text/examples/convert.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { type ScoredRow, scoreRows } from "./score-rows.ts";

/** One question: `{"prompt": "The sky is", "choices": ["blue", "loud"], "answer": 0}`. */
export interface ChoiceQuestion {
  readonly prompt: string;
  readonly choices: readonly string[];
  /** Which choice is right, from 0. */
  readonly answer: number;
}

/** Options of `scoreChoices`. */
export interface ScoreChoicesOptions {
  /** Choices that are computed at a time (default 8). */
  readonly batchSize?: number;
  /** Between a prompt and a choice (default one space). */
  readonly delimiter?: string;
  readonly engine?: EngineName | Engine;
}

/** What came of it. */
export interface ChoiceScores {
  readonly questions: number;
  /** The share of questions whose right choice is the likeliest: `acc` of the harness. */
  readonly accuracy: number;
  /** The same by likelihood per character of the choice: `acc_norm`. */
  readonly accuracyByCharacters: number;
  /** And per byte: `acc_bytes`. */
  readonly accuracyByBytes: number;
  /** Logarithms of the choices' probabilities, by question. */
  readonly logLikelihoods: readonly (readonly number[])[];
}

const CHECKS = { batchSize: is.wholeFrom(1), delimiter: is.string, engine: is.anything };

/**
 * Asks a model multiple-choice questions: each choice is appended to its prompt, and the likeliest one is the answer. Context
 * and choice are tokenized as lm-evaluation-harness does, so that its numbers can be compared.
 * @param questions a list, or a file of JSON lines
 * @example const { accuracy } = await scoreChoices(trainer, "questions.jsonl");
 */
export async function scoreChoices(
  of: LanguageModel | Trainer,
  questions: readonly ChoiceQuestion[] | TableFile,
  options: ScoreChoicesOptions = {},
): Promise<ChoiceScores> {
  checkOptions("scoreChoices", options, CHECKS);
  const { batchSize = 8, delimiter = " ", engine } = options;
  const { model, scored } = await modelOf(of);
  const all = Array.isArray(questions)
    ? (questions as readonly unknown[]).map((each, i) => checkQuestion(each, `question ${i}`))
    : await readQuestions(questions as TableFile);
  if (all.length === 0) throw new DataError("scoreChoices: there are no questions.");
  const { tokenizer, architecture, generation } = model;
  const beginning = generation.bosTokenId ?? generation.eosTokenIds[0];
  const rows = all.flatMap(({ prompt, choices }) =>
    choices.map((choice) => rowOf(tokenizer, prompt, `${delimiter}${choice}`, beginning, architecture.contextLength)),
  );
  const { scores } = await scoreRows(scored, rows, { batchSize, engine });
  let at = 0;
  const logLikelihoods = all.map(({ choices }) => choices.map(() => scores[at++]!));
  const share = (size: (choice: string) => number): number => {
    const right = all.filter(({ choices, answer }, i) => {
      const relative = logLikelihoods[i]!.map((score, k) => score / size(choices[k]!));
      return relative.indexOf(Math.max(...relative)) === answer;
    });
    return right.length / all.length;
  };
  return {
    questions: all.length,
    accuracy: share(() => 1),
    // As Python counts: characters beyond the first plane are one.
    accuracyByCharacters: share((choice) => Array.from(choice).length),
    accuracyByBytes: share((choice) => new TextEncoder().encode(choice).length),
    logLikelihoods,
  };
}

interface Scored {
  readonly model: LanguageModel;
  readonly scored: Pick<LanguageModel, "init" | "apply" | "base">;
}

async function modelOf(of: LanguageModel | Trainer): Promise<Scored> {
  const { options } = of as Partial<Trainer>;
  const model = (options?.model ?? of) as LanguageModel;
  if (!("tokenizer" in model) || !("apply" in model))
    throw new OptionError(`scoreChoices: expected a language model, or a trainer of one, got ${show(of)}.`);
  if (!options) return { model, scored: model };
  const trained = await (of as Trainer).stateDict();
  return {
    model,
    scored: {
      init: () => trained,
      apply: (...given) => model.apply(...given),
      ...(model.base && { base: model.base }),
    },
  };
}

/** Spaces at the end of the prompt belong to the choice: tokenizers join them with the word that follows. */
function rowOf(
  tokenizer: Tokenizer,
  given: string,
  choice: string,
  beginning: number | undefined,
  contextLength: number,
): ScoredRow {
  const prompt = given.trimEnd();
  const continuation = given.slice(prompt.length) + choice;
  const encode = (text: string): number[] => [...tokenizer.encode(text, { addSpecialTokens: false })];
  if (prompt === "" && beginning === undefined)
    throw new DataError("scoreChoices: a prompt is empty, and the model has no token for the beginning of a text.");
  const context = prompt === "" ? [beginning!] : encode(prompt);
  const whole = prompt === "" ? [beginning!, ...encode(continuation)] : encode(prompt + continuation);
  const labels = whole.map((id, i) => (i < context.length ? IGNORED : id));
  // The beginning of what is too long is left out.
  const from = Math.max(0, whole.length - (contextLength + 1));
  return { x: Int32Array.from(whole.slice(from, -1)), y: Int32Array.from(labels.slice(from + 1)) };
}

async function readQuestions(file: TableFile): Promise<ChoiceQuestion[]> {
  const source = openFile("scoreChoices", file);
  const all: ChoiceQuestion[] = [];
  let line = 0;
  for await (const texts of textLines(utf8Blocks(source.blocks(), source.name, undefined), source.name)) {
    for (const text of texts) {
      line++;
      if (text.trim() === "") continue;
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch (cause) {
        throw new DataError(`${source.name}:${line}: this line is not JSON.`, { cause });
      }
      all.push(checkQuestion(value, `${source.name}:${line}`));
    }
  }
  return all;
}

function checkQuestion(value: unknown, where: string): ChoiceQuestion {
  const { prompt, choices, answer } = { ...(value as Partial<ChoiceQuestion> | null) };
  const isValid =
    is.string.test(prompt) &&
    is.arrayOf(is.name).test(choices) &&
    choices!.length > 1 &&
    is.wholeFrom(0).test(answer) &&
    answer! < choices!.length;
  if (isValid) return { prompt: prompt!, choices: choices!, answer: answer! };
  throw new DataError(
    `${where}: expected {"prompt": "…", "choices": ["…", "…"], "answer": 0}, with the number of the right choice.`,
  );
}
