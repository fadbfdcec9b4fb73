// hookline/lm: language models of transformers' folders, to fine-tune, to train from nothing, and to generate with.
import "../core/ambient.ts";
export type { Activation, Architecture, LayerArchitecture, Rope, RopeScaling } from "./config/architecture.ts";
export type { GenerationDefaults } from "./config/generation-config.ts";
export { architectureOf } from "./config/read-config.ts";
export { generate, type Generation, type Generations } from "./generate/generate.ts";
export { generator, type GeneratesText, type TextGenerator, type GeneratorOptions } from "./generate/generator.ts";
export type { GenerateOptions, Prompt } from "./generate/options.ts";
export { sampleText, type SampleTextOptions } from "./generate/sample-text.ts";
export { loadModel, type LoadModelOptions } from "./load/load-model.ts";
export type { ModelFiles, RandomAccess } from "./load/model-files.ts";
export type { ModelLocation } from "./load/model-source.ts";
export type { DownloadProgress } from "./load/url-folder.ts";
export type { DecodeCache, KeyValues } from "./model/key-values.ts";
export {
  languageModel,
  type LanguageModel,
  type LanguageModelParts,
  type ModelSource,
} from "./model/language-model.ts";
export type { LoraOptions } from "./model/lora-options.ts";
export { lora, type Lora, type LoraConfig } from "./model/lora.ts";
export type { DescribeOptions } from "./model/memory.ts";
export type { BaseStorage } from "./model/packed.ts";
export type { CardOptions } from "./save/model-card.ts";
export { saveModel, type SavedModel, type SaveModelOptions } from "./save/save-model.ts";
export type { ExampleKind } from "./text/examples/kinds.ts";
export { type Examples, readExamples, type TextModel } from "./text/examples/read-examples.ts";
export type { ReadExamplesOptions, ReadProgress, RowOptions } from "./text/examples/options.ts";
export type { RowLoaderOptions } from "./text/examples/rows.ts";
export type { ExampleStatistics } from "./text/examples/statistics.ts";
export { createChatHandler, type ChatHandlerOptions } from "./serve/chat-handler.ts";
export type { Message } from "./text/messages.ts";
export type { TextFiles } from "./text/tokenizer-files.ts";
export {
  loadTokenizer,
  type DecodeOptions,
  type EncodeOptions,
  type RenderOptions,
  type Tokenizer,
} from "./text/tokenizer.ts";
export { type ChoiceQuestion, type ChoiceScores, scoreChoices, type ScoreChoicesOptions } from "./train/choices.ts";
export { dpo, type DpoOptions, type DpoTraining } from "./train/dpo.ts";
export { type LanguageTraining, sft, type SftOptions } from "./train/sft.ts";
