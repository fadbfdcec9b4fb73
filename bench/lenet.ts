// A LeNet-size training step through the trainer: convolutions are what wasm is worst at.
import { Trainer } from "hookline";
import { lenet } from "./lib/models.ts";
import type { Report } from "./lib/report.ts";
import { median, p10 } from "./lib/stats.ts";

/** The first steps compile and warm up. */
const WARM_UP = 3;
const STEPS = 20;

export async function run(): Promise<Report> {
  const times: number[] = [];
  let last = performance.now();
  const trainer = new Trainer({ ...lenet(), steps: WARM_UP + STEPS, engine: "wasm", signals: false });
  trainer.on("stepEnd", () => {
    const now = performance.now();
    times.push(now - last);
    last = now;
  });
  await trainer.fit();
  await trainer.close();
  const steps = times.slice(WARM_UP);
  return {
    name: "lenet",
    title: "lenet: ms a training step at batch 64 on wasm",
    columns: ["first step", "p10", "median"],
    rows: [["LeNet-5, sgd with momentum", times[0]!, p10(steps), median(steps)]],
    aims: [{ what: "median step", measured: median(steps), unit: "ms", limit: 200 }],
  };
}
