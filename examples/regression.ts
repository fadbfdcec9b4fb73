// Regression with several losses: a network learns from throws of a ball how far it flies, where one measurement in ten
// is badly wrong, and whether it clears a wall on its way. `npx tsx examples/regression.ts` takes a few seconds.
import { lossSchedule, Trainer, type Loss, type Metric, type Tensor, type Tensors } from "hookline";
import { DataLoader, Rng, split } from "hookline/data";
import { numpy as np } from "hookline/jax";
import { bceWithLogits, block, huber, linear, mse, relu, sequential } from "hookline/nn";
import { adamw, cosine } from "hookline/optim";

const quick = process.argv.includes("--quick"); // the tests run it so: fewer epochs
const epochs = quick ? 6 : 30;
const throws = 4000;

// ---------------------------------------------------------------------------------------------------------------------
// Data: speed (m/s) and angle → distance (in units of 10 m) and whether the ball is above 3 m when it is 10 m away.
const rng = new Rng(0);
const x = new Float32Array(2 * throws);
const distance = new Float32Array(throws);
const measured = new Float32Array(throws);
const clears = new Float32Array(throws);
for (let i = 0; i < throws; i++) {
  const speed = 8 + 12 * rng.next();
  const angle = 0.2 + 1.1 * rng.next();
  x.set([(speed - 14) / 6, (angle - 0.75) / 0.55], 2 * i); // inputs of about −1 … 1
  distance[i] = (speed ** 2 * Math.sin(2 * angle)) / 9.81 / 10;
  const wrong = rng.next() < 0.1 ? 5 * rng.normal() : 0;
  measured[i] = distance[i]! + 0.02 * rng.normal() + wrong;
  const flight = 10 / (speed * Math.cos(angle));
  clears[i] = Number(10 * Math.tan(angle) - (9.81 / 2) * flight ** 2 > 3);
}
const column = (data: Float32Array) => ({ data, shape: [throws, 1] });
const [train, val] = split(
  {
    x: { data: x, shape: [throws, 2] },
    measured: column(measured),
    clears: column(clears),
    distance: column(distance),
  },
  [0.8, 0.2],
);

// ---------------------------------------------------------------------------------------------------------------------
// One trunk, two heads. A model may return several arrays by name; a loss then says which one it compares with what.
const model = block(
  { trunk: sequential(linear(2, 64), relu(), linear(64, 64), relu()), far: linear(64, 1), over: linear(64, 1) },
  (calls, input: Tensor) => {
    const features = calls.trunk(input);
    // In jax-js use consumes an array, and `.ref` keeps it for another.
    return { far: calls.far(features.ref), over: calls.over(features) };
  },
);

/** `loss` between one of the model's outputs and one field of the batch. */
const between =
  (output: "far" | "over", field: string, loss: Loss): Loss =>
  (outputs, _targets, batch) =>
    loss((outputs as Tensors)[output]!.ref, batch[field]!.ref, batch);

// The losses by name, and what is minimised: their sum, in which the distance counts twice.
const squared = between("far", "measured", mse());
const robust = between("far", "measured", huber({ delta: 0.2 }));
const over = between("over", "clears", bceWithLogits());
const withSquared: Loss = (...args) => np.add(squared(...args).mul(2), over(...args));
const withRobust: Loss = (...args) => np.add(robust(...args).mul(2), over(...args));

/** A loss as a metric, so that each is logged on its own: its mean over all samples of an epoch or an evaluation. */
const logged = (loss: Loss, finish = (mean: number) => mean): Metric => ({
  update(outputs, batch) {
    const samples = batch.x!.shape[0]!;
    return { sum: loss(outputs, batch.y!, batch).mul(samples), samples: np.array(samples, { dtype: np.float32 }) };
  },
  compute: (sums) => finish(sums.sum! / sums.samples!),
});

// ---------------------------------------------------------------------------------------------------------------------
// The squared error is fooled by wrong measurements, the more the worse they are. Huber's loss is not; from half of the
// run on it takes over. Either could be had from the start: here it is to be seen what the change does.
const trainer = new Trainer({
  model,
  loss: withSquared,
  metrics: {
    squared: logged(squared),
    robust: logged(robust),
    over: logged(over),
    // What we are after: metres from the true distance, which no loss has seen.
    metres: logged(between("far", "distance", mse()), (mean) => 10 * Math.sqrt(mean)),
  },
  optimizer: adamw({ lr: 5e-3 }),
  schedule: cosine(),
  train: new DataLoader(train, { batchSize: 64, shuffle: true }),
  eval: new DataLoader(val, { batchSize: 400 }),
  epochs,
  hooks: [lossSchedule({ schedule: [{ from: "50%", loss: withRobust }] })],
});

const shown = ["val/loss", "val/squared", "val/robust", "val/over", "val/metres"];
console.log(["epoch", ...shown].map((name) => name.padStart(12)).join(""));
trainer.on("epochEnd", { every: "10%" }, (ctx) => {
  const values = shown.map((name) => ctx.metrics[name]!.toFixed(4).padStart(12));
  console.log(String(ctx.epoch + 1).padStart(12) + values.join(""));
});
const result = await trainer.fit();
for (const { who, step, what } of result.interventions) console.log(`${who} at step ${step}: ${what}`);
console.log(`off by ${result.metrics["val/metres"]!.toFixed(2)} m, of throws of up to 40 m`);
await trainer.close();
