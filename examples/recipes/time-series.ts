// Time series: `npx tsx examples/recipes/time-series.ts`. A network forecasts the next 24 hours of a demand for power from
// the last 7 days, and is compared with the forecast that every other must beat: the same hour of a week ago.
import { earlyStopping, Trainer } from "hookline";
import { DataLoader, Rng, type Dataset } from "hookline/data";
import { linear, mae, mse, relu, sequential } from "hookline/nn";
import { adam, cosine } from "hookline/optim";

const quick = process.argv.includes("--quick"); // the tests run it so
const days = quick ? 200 : 730;
const [past, future] = [7 * 24, 24];

// Made up, with what such series have: a day, a week, a slow trend, weather that lasts for days, and noise. In megawatts.
const rng = new Rng(1);
let weather = 0;
const demand = Float32Array.from({ length: days * 24 }, (_, hour) => {
  weather = 0.98 * weather + 3 * rng.normal();
  const daily = 60 * Math.sin((2 * Math.PI * ((hour % 24) - 8)) / 24);
  const weekend = Math.floor(hour / 24) % 7 >= 5 ? -50 : 0;
  return 500 + daily + weekend + 0.004 * hour + weather + 5 * rng.normal();
});

// The last fifth is the future. Scaling must not look into it, and no window may lie on both sides.
const cut = Math.floor(demand.length * 0.8);
const known = demand.subarray(0, cut);
const mean = known.reduce((sum, value) => sum + value, 0) / cut;
const deviation = Math.sqrt(known.reduce((sum, value) => sum + (value - mean) ** 2, 0) / cut);
const scaled = demand.map((value) => (value - mean) / deviation);

/** Windows that begin `every` so many hours; they are cut out when a batch needs them. */
function windows(from: number, to: number, every: number): Dataset<{ x: Float32Array; y: Float32Array }> {
  return {
    length: Math.floor((to - from - past - future) / every) + 1,
    get(i) {
      const start = from + i * every;
      return { x: scaled.subarray(start, start + past), y: scaled.subarray(start + past, start + past + future) };
    },
  };
}

const train = windows(0, Math.floor(cut * 0.9), 1);
const val = windows(Math.floor(cut * 0.9), cut, 1);
const test = windows(cut, demand.length, 24);
await using trainer = new Trainer({
  model: sequential(linear(past, 64), relu(), linear(64, future)),
  loss: mse(),
  metrics: { error: mae() },
  optimizer: adam({ lr: 1e-3 }),
  schedule: cosine(),
  train: new DataLoader(train, { batchSize: 64, shuffle: true }),
  eval: new DataLoader(val, { batchSize: 64 }),
  epochs: quick ? 10 : 20,
  hooks: [earlyStopping({ monitor: "val/loss", patience: 5, restoreBest: true })],
});
await trainer.fit();

const result = await trainer.evaluate(new DataLoader(test, { batchSize: 64 }));
let naive = 0;
for (let i = 0; i < test.length; i++) {
  const start = cut + i * 24 + past;
  for (let hour = start; hour < start + future; hour++) naive += Math.abs(demand[hour]! - demand[hour - 7 * 24]!);
}
console.log(`a week ago:  off by ${(naive / test.length / future).toFixed(1)} MW`);
console.log(`the network: off by ${(result["test/error"]! * deviation).toFixed(1)} MW`);
