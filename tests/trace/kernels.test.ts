// What nobody asked for is not in a step's program: on wasm each kernel is started apart, and a small one costs as much.
import { setDebug } from "@jax-js/jax";
import { Trainer, type TrainerOptions } from "hookline";
import { DataLoader } from "hookline/data";
import { accuracy, crossEntropy, linear, mse } from "hookline/nn";
import { sgd } from "hookline/optim";
import { afterEach, expect, test, vi } from "vitest";
import { randomData } from "../support/random-data.ts";

afterEach(() => setDebug(0));

/** Kernels of each program that jax-js compiles meanwhile; one that the process knows already is not among them. */
async function kernelsOf(run: () => unknown): Promise<number[]> {
  using info = vi.spyOn(console, "info").mockImplementation(() => undefined);
  setDebug(4);
  await run();
  setDebug(0);
  const programs = info.mock.calls.map(([text]) => String(text)).filter((text) => text.includes("{ device ="));
  return programs.map((text) => text.match(/, kernel/g)?.length ?? 0);
}

const { floats, labels } = randomData(3);
const data = { x: floats(11, 5), y: floats(11, 3) };

const steps = (options: Partial<TrainerOptions>) => async () => {
  const rest = { model: linear(5, 3), loss: mse(), optimizer: sgd({ lr: 0.1 }), steps: 2, engine: "wasm" as const };
  const trainer = new Trainer({ train: new DataLoader(data, { batchSize: 11 }), ...rest, ...options });
  await trainer.fit();
  await trainer.close();
};

test("a linear model's step", async () => {
  // The batch as both products read it, the forward pass, the loss, its derivative, the weight's gradient, two updates.
  expect(Math.max(...(await kernelsOf(steps({}))))).toBe(7);
});

test("metrics add theirs", async () => {
  const classes = { train: new DataLoader({ ...data, y: labels(11, 3) }, { batchSize: 11 }), loss: crossEntropy() };
  const without = Math.max(...(await kernelsOf(steps(classes))));
  expect(Math.max(...(await kernelsOf(steps({ ...classes, metrics: { accuracy: accuracy() } }))))).toBeGreaterThan(
    without,
  );
});
