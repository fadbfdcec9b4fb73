// A training at a steady pace that listens to commands: it tells when its steps ended, and what it has computed so far.
import { control, logger, Trainer } from "hookline";
import { DataLoader } from "hookline/data";
import { linear } from "hookline/nn";
import { sgd } from "hookline/optim";
import { mse } from "hookline/nn";

export interface RunUsage {
  /** Processor milliseconds of all its threads so far. */
  readonly cpu: number;
  /** When each step ended, in milliseconds since 1970. */
  readonly ends: readonly number[];
}

const PACE_MS = 20;
/** No epoch ends meanwhile: each point of the chart is a step. */
const SAMPLES = 200_000;

const [runDir = ""] = process.argv.slice(2);
const ends: number[] = [];
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send!({ cpu: (user + system) / 1000, ends } satisfies RunUsage);
});
process.on("disconnect", () => process.exit(0));

const numbers = (columns: number) => ({
  data: new Float32Array(SAMPLES * columns).fill(0.5),
  shape: [SAMPLES, columns],
});
const trainer = new Trainer({
  model: linear(3, 1),
  loss: mse(),
  optimizer: sgd({ lr: 0.01 }),
  train: new DataLoader({ x: numbers(3), y: numbers(1) }, { batchSize: 4 }),
  epochs: 1,
  engine: "wasm",
  signals: false,
  logEvery: 1,
  runDir,
  hooks: [
    control(),
    {
      name: "pace",
      async onStepEnd() {
        ends.push(Date.now());
        await new Promise((resolve) => void setTimeout(resolve, PACE_MS));
      },
    },
    logger("jsonl"),
  ],
});
await trainer.fit();
