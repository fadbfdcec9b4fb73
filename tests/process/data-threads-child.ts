// Trains on a loader that works in threads, in a process of its own, and ends without closing anything.
import { Trainer } from "../../src/index.ts";
import { workerLoader } from "../../src/data/index.ts";
import { linear, mse } from "../../src/nn/index.ts";
import { sgd } from "../../src/optim/index.ts";
import { pairs } from "../support/thread-loaders.ts";

const inThreads = process.argv[2] === "threads";
const module = new URL("../support/thread-loaders.ts#pairs", import.meta.url);
const load = () => (inThreads ? workerLoader(module, { workers: 2 }) : pairs());
const trainer = new Trainer({
  model: linear(2, 1),
  loss: mse(),
  optimizer: sgd({ lr: 0.05 }),
  train: await load(),
  eval: await load(),
  epochs: 3,
  engine: "wasm",
});
const losses: number[] = [];
trainer.on("stepEnd", (ctx) => void losses.push(ctx.loss));
trainer.on("evalEnd", (ctx) => void losses.push(ctx.evalMetrics["val/loss"]!));
await trainer.fit();
console.log(JSON.stringify(losses));
// A pass that nobody goes on with: batches have been made ahead.
const left = await load();
left.begin(0, 0);
await left.next();
