// Trains in a worker, so that the page never stalls, and reports each step. The task: which of two spirals is a point on?
import { Trainer } from "hookline";
import { DataLoader, Rng, split } from "hookline/data";
import { accuracy, crossEntropy, linear, relu, sequential } from "hookline/nn";
import { adam } from "hookline/optim";
import type { ToPage, ToWorker } from "./messages.ts";

const report = (message: ToPage): void => postMessage(message);

function spirals(count: number) {
  const rng = new Rng(0);
  const points = new Float32Array(2 * count);
  const labels = Int32Array.from({ length: count }, (_, i) => i % 2);
  for (let i = 0; i < count; i++) {
    const angle = 1 + 6 * rng.next();
    const turn = labels[i]! * Math.PI;
    points[2 * i] = (angle / 7) * Math.cos(angle + turn) + 0.03 * rng.normal();
    points[2 * i + 1] = (angle / 7) * Math.sin(angle + turn) + 0.03 * rng.normal();
  }
  return { x: { data: points, shape: [count, 2] }, y: labels };
}

let stop = false;

async function train(epochs: number): Promise<void> {
  const [data, held] = split(spirals(1000), [0.8, 0.2]);
  let device = "";
  await using trainer = new Trainer({
    model: sequential(linear(2, 64), relu(), linear(64, 64), relu(), linear(64, 2)),
    loss: crossEntropy(),
    metrics: { accuracy: accuracy() },
    optimizer: adam({ lr: 0.01 }),
    train: new DataLoader(data, { batchSize: 50, shuffle: true }),
    eval: new DataLoader(held, { batchSize: 200 }),
    epochs,
    engine: "wasm", // for a model of this size faster than WebGPU; "auto" takes WebGPU where there is one
  });
  trainer.on("trainBegin", (ctx) => void ({ device } = ctx));
  trainer.on("stepEnd", { every: 4 }, (ctx) => report({ kind: "loss", step: ctx.step, loss: ctx.loss }));
  trainer.on("epochEnd", (ctx) => {
    report({ kind: "epoch", epoch: ctx.epoch + 1, accuracy: ctx.metrics["val/accuracy"]! });
    if (stop) ctx.stop("the page asked for it");
  });
  const { status } = await trainer.fit();
  report({ kind: "end", status, device });
}

addEventListener("message", ({ data }: MessageEvent<ToWorker>) => {
  stop = data.do === "stop";
  if (data.do === "train")
    train(data.epochs).catch((error: Error) => report({ kind: "error", message: error.message }));
});
