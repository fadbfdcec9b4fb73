// The options of `generate`, and what a prompt may be.
import { OptionError } from "../../core/errors.ts";
import { checkOptions, is, show } from "../../core/options.ts";
import type { GenerationDefaults } from "../config/generation-config.ts";
import type { LanguageModel } from "../model/language-model.ts";
import type { Message, Tokenizer } from "../text/tokenizer.ts";
import type { Sampling } from "./sampler.ts";

/** What is continued: a text, a conversation that waits for an answer, or token ids. */
export type Prompt = string | readonly Message[] | readonly number[] | Int32Array;

/** Options of `generate`. Those that are absent are as the model's generation_config.json has them. */
export interface GenerateOptions {
  /** The most tokens that are added to each prompt. Default 256, or as many as fit into the context. */
  readonly maxTokens?: number;
  /** 0 takes the most likely token each time; 1 draws from the model's own distribution. Default: the model's, or 0. */
  readonly temperature?: number;
  /** Draws only from the k most likely tokens. */
  readonly topK?: number;
  /** Draws only from the most likely tokens whose probabilities add up to this. */
  readonly topP?: number;
  /** Draws only from tokens at least this likely, as a share of the most likely one. */
  readonly minP?: number;
  /** Over 1: tokens of the prompt and of the text become less likely. */
  readonly repetitionPenalty?: number;
  /** The same seed gives the same text. Default 0. */
  readonly seed?: number;
  /** Texts that end the text, and are no part of it. */
  readonly stop?: string | readonly string[];
  /** Ends the generation with its reason as the error. */
  readonly signal?: AbortSignal;
  /** The most tokens of a prompt with its text. Default: the model's context. */
  readonly context?: number;
}

/** Of the options that `sampleText` takes too. */
export const GENERATION_CHECKS = {
  maxTokens: is.wholeFrom(1),
  temperature: is.nonNegative,
  topK: is.wholeFrom(1),
  topP: is.between(0, 1),
  minP: is.between(0, 1),
  repetitionPenalty: is.positive,
  seed: is.whole,
  stop: is.or(is.name, is.arrayOf(is.name)),
  context: is.wholeFrom(1),
};

export function checkGenerateOptions(what: string, options: GenerateOptions): void {
  checkOptions(what, options, { ...GENERATION_CHECKS, signal: is.object });
}

const DEFAULT_TOKENS = 256;

/** How many tokens a prompt gets; `byDefault` of them, or as many as fit. */
export function tokensFor(
  prompt: Int32Array,
  { maxTokens, context }: GenerateOptions,
  { architecture }: LanguageModel,
  byDefault = DEFAULT_TOKENS,
): number {
  const most = Math.min(context ?? Infinity, architecture.contextLength);
  const tokens = maxTokens ?? Math.max(1, Math.min(byDefault, most - prompt.length));
  if (prompt.length + tokens <= most) return tokens;
  throw new OptionError(
    `generate: the prompt has ${prompt.length} tokens and \`maxTokens\` is ${tokens}, but ${context === most ? "`context` is" : "the model's context has"} ${most}. Shorten the prompt, or set a smaller \`maxTokens\`.`,
    { option: "maxTokens" },
  );
}

/** How tokens are chosen: the options, and else the model's way. */
export function samplingFor(options: GenerateOptions, defaults: GenerationDefaults): Sampling {
  const { topK, topP, minP } = options;
  const draws = defaults.sample === true || [topK, topP, minP].some((option) => option !== undefined);
  return {
    temperature: options.temperature ?? (draws ? (defaults.temperature ?? 1) : 0),
    topK: topK ?? (defaults.topK || undefined),
    topP: topP ?? defaults.topP,
    minP: minP ?? defaults.minP,
    repetitionPenalty: options.repetitionPenalty ?? defaults.repetitionPenalty,
  };
}

/** The ids of a prompt. */
export async function idsOf(prompt: Prompt, model: LanguageModel): Promise<Int32Array> {
  const ids = await encoded(prompt, () => model.tokenizer);
  const { vocabularySize } = model.architecture;
  const bad = ids.find((id) => id < 0 || id >= vocabularySize);
  if (bad !== undefined)
    throw new OptionError(
      `generate: the prompt has the id ${bad}, but the model's ids are 0 to ${vocabularySize - 1}.`,
    );
  if (ids.length > 0) return ids;
  const { bosTokenId } = model.generation;
  if (bosTokenId !== undefined) return Int32Array.of(bosTokenId);
  throw new OptionError("generate: the prompt has no tokens, and the model has none for the beginning of a text.");
}

async function encoded(prompt: Prompt, tokenizer: () => Tokenizer): Promise<Int32Array> {
  if (typeof prompt === "string") return tokenizer().encode(prompt);
  if (prompt instanceof Int32Array) return prompt;
  if (isIds(prompt)) return Int32Array.from(prompt);
  const text = await tokenizer().render(prompt, { addGenerationPrompt: true });
  // A template writes the special tokens itself.
  return tokenizer().encode(text, { addSpecialTokens: false });
}

const isIds = (prompt: Prompt): prompt is readonly number[] =>
  Array.isArray(prompt) && prompt.every((each) => Number.isSafeInteger(each));
const isMessages = (prompt: unknown): prompt is readonly Message[] =>
  Array.isArray(prompt) && prompt.every((each) => is.object.test(each) && typeof (each as Message).role === "string");

const isPrompt = (prompt: unknown): prompt is Prompt =>
  typeof prompt === "string" || prompt instanceof Int32Array || isIds(prompt as Prompt) || isMessages(prompt);

/** One prompt, or several. */
export function promptsOf(given: unknown): { readonly prompts: readonly Prompt[]; readonly isOne: boolean } {
  if (isPrompt(given)) return { prompts: [given], isOne: true };
  if (Array.isArray(given) && given.every(isPrompt)) return { prompts: given, isOne: false };
  throw new OptionError(
    `generate: Expected the prompt to be a text, a list of messages { role, content }, token ids, or a list of such prompts, got ${show(given)}.`,
  );
}
