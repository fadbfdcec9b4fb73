// A small random model with a tokenizer and a chat template, for tests of text.
import { readFileSync } from "node:fs";
import { architectureOf, languageModel, type LanguageModel, loadTokenizer } from "hookline/lm";
import { filesOf } from "./text/tokenizer-fixtures.ts";

export const CHATML = readFileSync(new URL("./text/templates/chatml.jinja", import.meta.url), "utf8");

export const SMALL = {
  model_type: "llama",
  vocab_size: 900,
  hidden_size: 32,
  intermediate_size: 48,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 600,
  initializer_range: 0.3,
};

/** Its texts have no sense, and no end but the given ids. */
export async function textModel(eosTokenIds: readonly number[] = []): Promise<LanguageModel> {
  const tokenizer = await loadTokenizer(filesOf("byte-level", { chat_template: CHATML }));
  return languageModel(architectureOf(SMALL), { tokenizer, generation: { eosTokenIds } });
}
