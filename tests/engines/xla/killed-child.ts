// A training on the xla engine for endurance.test.ts, in a process that may be killed: it resumes where its directory ends,
// and prints its last loss and a digest of its weights.
import { createHash } from "node:crypto";
import { modelCheckpoint, Trainer } from "hookline";
import { DataLoader } from "hookline/data";
import { crossEntropy, dropout, linear, relu, sequential } from "hookline/nn";
import { adamw } from "hookline/optim";
import type { Precision } from "../../../src/engines/engine.ts";

const [runDir, precision] = process.argv.slice(2) as [string, Precision];
const rows = 512;
const x = { data: Float32Array.from({ length: rows * 32 }, (_, i) => Math.sin(i * 0.7)), shape: [rows, 32] };
const y = { data: Int32Array.from({ length: rows }, (_, i) => (i * i) % 5), shape: [rows] };
const trainer = new Trainer({
  model: sequential(linear(32, 64), relu(), dropout(0.2), linear(64, 5)),
  loss: crossEntropy(),
  optimizer: adamw({ lr: 0.01 }),
  train: new DataLoader({ x, y }, { batchSize: 32, shuffle: true }),
  engine: "xla",
  precision,
  steps: 600,
  runDir,
  hooks: [modelCheckpoint({ every: 10 })],
});
const losses: number[] = [];
trainer.on("stepEnd", (ctx) => {
  losses.push(ctx.loss);
  if (ctx.step % 10 === 0) process.stderr.write(`${ctx.step}\n`);
});
await trainer.fit({ resume: "auto" });
const digest = createHash("sha256");
for (const { data } of Object.values(await trainer.stateDict())) {
  digest.update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
}
await trainer.close();
console.log(JSON.stringify({ weights: digest.digest("hex"), loss: losses.at(-1) }));
