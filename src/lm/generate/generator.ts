// What generates: a model with its parameters on an engine, for one call, for many, or within a training.
import type { ParamsView } from "../../core/inspection.ts";
import type { LossModel, Model } from "../../core/model.ts";
import { OptionError } from "../../core/errors.ts";
import { checkOptions, is, show } from "../../core/options.ts";
import { Rng } from "../../data/random.ts";
import type { Engine } from "../../engines/engine.ts";
import type { EngineName } from "../../engines/select.ts";
import { printWarning } from "../../platform/print.ts";
import { type OpenParams, openParams } from "../../trainer/open-params.ts";
import type { LanguageModel } from "../model/language-model.ts";
import { Batch } from "./batch.ts";
import { Continuation } from "./continuation.ts";
import { type GenerateOptions, idsOf, type Prompt, samplingFor, tokensFor } from "./options.ts";
import { Sampler } from "./sampler.ts";

/** Options of `generator`. */
export interface GeneratorOptions {
  /** What computes. Default: the best engine that is there. */
  readonly engine?: EngineName | Engine;
  /** The most texts that are written at the same time; others wait. Default 8. */
  readonly rows?: number;
}

const CHECKS = { engine: is.or(is.name, is.object), rows: is.wholeFrom(1) };
const DEFAULT_ROWS = 8;

interface BeginOptions {
  /** Which prompt of its call it is. */
  readonly index?: number;
  /** How many tokens it gets where the options do not say. */
  readonly tokens?: number;
}

/** A model that is ready to generate. */
export class TextGenerator implements AsyncDisposable {
  readonly model: LanguageModel;
  readonly #rows: number;
  readonly #open: () => Promise<OpenParams>;
  #opening: Promise<OpenParams> | undefined;
  #batch: Batch | undefined;
  #closed = false;

  constructor(model: LanguageModel, open: () => Promise<OpenParams>, rows = DEFAULT_ROWS) {
    this.model = model;
    this.#open = open;
    this.#rows = rows;
  }

  /** Texts that have not ended. */
  get pending(): number {
    return this.#batch?.pending ?? 0;
  }

  /** Starts the engine, which otherwise starts with the first text. Resolves to its name. */
  async start(): Promise<string> {
    if (this.#closed) throw new OptionError("The generator was closed. Make another one with `generator(model)`.");
    this.#opening ??= this.#open();
    const { engine, params } = await this.#opening;
    this.#batch ??= new Batch(this.model, params, this.#rows);
    return engine;
  }

  /** Begins to continue a prompt. Rejects where the prompt or the options do not fit the model. */
  async begin(
    prompt: Prompt,
    options: GenerateOptions,
    { index = 0, tokens }: BeginOptions = {},
  ): Promise<Continuation> {
    const { model } = this;
    const { stop = [], seed = 0, signal } = options;
    signal?.throwIfAborted();
    const ids = await idsOf(prompt, model);
    const continuation = new Continuation({
      prompt: ids,
      sampler: new Sampler(samplingFor(options, model.generation), new Rng(seed, index), ids),
      maxTokens: tokensFor(ids, options, model, tokens),
      stopIds: new Set(model.generation.eosTokenIds),
      stops: typeof stop === "string" ? [stop] : stop,
      tokenizer: () => model.tokenizer,
      signal,
    });
    await this.start();
    this.#batch!.add(continuation).then(
      () => continuation.ended(),
      (error: unknown) => continuation.fail(error),
    );
    return continuation;
  }

  /** Waits for the texts that are being written, and frees everything. */
  async close(): Promise<void> {
    this.#closed = true;
    const opening = this.#opening;
    this.#opening = undefined;
    if (!opening) return;
    await this.#batch?.drained();
    await (await opening).close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * A model on an engine of its own, for many calls of `generate`, until it is closed; or a trainer's model, on its engine.
 * @example await using writer = generator(await loadModel("models/SmolLM2-135M"), { engine: "native" });
 */
export function generator(
  of: LanguageModel | TrainerLike | ContextLike,
  options: GeneratorOptions = {},
): TextGenerator {
  checkOptions("generator", options, CHECKS);
  const { engine, rows } = options;
  if (isLanguageModel(of)) return new TextGenerator(of, () => openParams(of, engine ?? "auto", printWarning), rows);
  if (!is.object.test(of)) throw notAModel(of);
  const model = "options" in of ? of.options.model : of.model;
  if (!isLanguageModel(model)) throw notAModel(model ?? of);
  if (engine !== undefined) throw new OptionError("generator: a trainer has its own `engine`. Leave the option out.");
  const borrowed = async (): Promise<OpenParams> => {
    const params = "options" in of ? await of.params() : of.params;
    return { params, engine: "the trainer's", close: async () => {} };
  };
  return new TextGenerator(model, borrowed, rows);
}

/** A started trainer whose model is a language model. */
interface TrainerLike {
  readonly options: { readonly model: Model<never> | LossModel };
  params(): Promise<ParamsView>;
}

/** The context of a hook. */
interface ContextLike {
  readonly model: Model<never> | LossModel;
  readonly params: ParamsView;
}

/** What can generate: a model, a trainer of one, the context of a hook, or a `generator`. */
export type GeneratesText = LanguageModel | TrainerLike | ContextLike | TextGenerator;

/** The generator for one call, and whether it ends with the call. */
export const generatorFor = (of: GeneratesText): { readonly writer: TextGenerator; readonly isOwn: boolean } =>
  of instanceof TextGenerator ? { writer: of, isOwn: false } : { writer: generator(of), isOwn: true };

const isLanguageModel = (model: unknown): model is LanguageModel =>
  typeof (model as LanguageModel | undefined)?.decode === "function";

const notAModel = (given: unknown): OptionError =>
  new OptionError(
    `generate: Expected a language model, made with loadModel or languageModel, or a trainer of one, got ${show(given)}.`,
  );
