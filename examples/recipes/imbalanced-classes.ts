// Imbalanced classes: `npx tsx examples/recipes/imbalanced-classes.ts`. One payment in a hundred is a fraud. A model that
// always says "no" is right in 99 % of the cases and useless: measure something else, and give the rare class more weight.
import { Trainer } from "hookline";
import { DataLoader, Rng, split } from "hookline/data";
import { accuracy, averagePrecision, crossEntropy, linear, precision, recall, relu, sequential } from "hookline/nn";
import { adam } from "hookline/optim";

const quick = process.argv.includes("--quick"); // the tests run it so
const payments = quick ? 10_000 : 50_000;

// Made up: a fraud has a larger amount, at an unusual hour, from a newer card; often it looks like any other payment.
const rng = new Rng(3);
const y = Int32Array.from({ length: payments }, () => Number(rng.next() < 0.01));
const x = new Float32Array(4 * payments);
for (let i = 0; i < payments; i++) {
  const shift = y[i]! * 1.2;
  x.set([rng.normal() + shift, rng.normal() - shift, rng.normal() + 0.5 * shift, rng.normal()], 4 * i);
}
const [train, val] = split({ x: { data: x, shape: [payments, 4] }, y }, [0.7, 0.3]);

console.log("                 accuracy  recall  precision  average precision");
for (const [name, loss] of Object.entries({
  "plain loss": crossEntropy(),
  // Each class counts as much as the other: a fraud weighs 99 times as much as another payment.
  "balanced classes": crossEntropy({ classWeights: "balanced" }),
})) {
  await using trainer = new Trainer({
    model: sequential(linear(4, 16), relu(), linear(16, 2)),
    loss,
    metrics: {
      accuracy: accuracy(),
      recall: recall(), // of the frauds, so many were found
      precision: precision(), // of the alarms, so many were frauds
      averagePrecision: averagePrecision(), // over all thresholds: how well frauds are separated from the rest
    },
    optimizer: adam({ lr: 0.01 }),
    train: new DataLoader(train, { batchSize: 250, shuffle: true }),
    epochs: 5,
  });
  await trainer.fit();
  const result = await trainer.evaluate(new DataLoader(val, { batchSize: 1000 }));
  const shown = ["accuracy", "recall", "precision", "averagePrecision"].map((metric) =>
    (result[`test/${metric}`]! * 100).toFixed(1).padStart(8),
  );
  console.log(name.padEnd(16), shown.join(" "));
}
