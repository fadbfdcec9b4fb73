// A small language model learns to write about films from nothing, and is saved as transformers saves a model:
// `npx tsx examples/lm/pretrain.ts`. Three minutes on two cores: enough for sentences, and to repeat what was said before.
// Ctrl-C saves, and the same command continues.
import { copyFileSync } from "node:fs";
import { modelCheckpoint, progressBar, Trainer } from "hookline";
import { architectureOf, generate, languageModel, loadTokenizer, readExamples, saveModel, sft } from "hookline/lm";
import { adamw, cosine } from "hookline/optim";
import { readFilms } from "./films.ts";

const quick = process.argv.includes("--quick"); // the tests run it so: a few steps
const steps = quick ? 3 : 1000;
const [batchSize, length] = quick ? [2, 64] : [16, 128];
const out = process.env.LM_FOLDER ?? "models/films"; // relative to the working directory

const here = new URL("./", import.meta.url).pathname;
const tokenizer = await loadTokenizer(`${here}tokenizer`);
const config = {
  model_type: "llama",
  architectures: ["LlamaForCausalLM"],
  vocab_size: tokenizer.vocabularySize,
  hidden_size: quick ? 32 : 128,
  intermediate_size: quick ? 64 : 352,
  num_hidden_layers: quick ? 1 : 4,
  num_attention_heads: quick ? 2 : 4,
  num_key_value_heads: quick ? 1 : 4,
  max_position_embeddings: 256,
  hidden_act: "silu",
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
  eos_token_id: 0,
  bos_token_id: 0,
};
const model = languageModel(architectureOf(config), { tokenizer });

// Every text ends with the token that ends a text; several share a row, and none sees another.
const { prose } = await readFilms();
const text = (quick ? prose.slice(0, 200) : prose).map((each) => JSON.stringify({ text: each })).join("\n");
const data = await readExamples({ text }, tokenizer, { length, val: 0.01 });
console.log(data.summary());
console.log(model.describe({ batchSize, length }));

const trainer = new Trainer({
  ...sft(model, data, { batchSize }),
  optimizer: adamw({ lr: 3e-3 }),
  schedule: cosine({ warmup: "5%" }),
  clipNorm: 1,
  steps,
  evalEvery: "25%",
  runDir: process.env.LM_PRETRAINING ?? "runs/films",
  hooks: [progressBar(), modelCheckpoint({ every: "25%" })],
});
if ((await trainer.fit({ resume: "auto" })).status !== "completed") process.exit();

console.log(await generate(trainer, "The comedy film", { maxTokens: quick ? 8 : 60, temperature: 0.7 }).text());
await saveModel(trainer, out, { overwrite: true });
for (const file of ["tokenizer.json", "tokenizer_config.json"])
  copyFileSync(`${here}tokenizer/${file}`, `${out}/${file}`);
await trainer.close();
await tokenizer.close();
console.log(`\nSaved in ${out}: npx hookline generate ${out} --prompt "The comedy film"`);
