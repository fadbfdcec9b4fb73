// A step over masked labels in micro-batches of one row, against PyTorch's gradient over the whole batch.
import { spawnSync } from "node:child_process";
import { DataLoader } from "hookline/data";
import { crossEntropy, linear } from "hookline/nn";
import { sgd } from "hookline/optim";
import { tinyTrainer } from "hookline/testing";
import { expect, it } from "vitest";
import { ints, maxError, noise } from "../support/gradcheck.ts";

const python = "/usr/bin/python3";
const env = { ...process.env, OMP_NUM_THREADS: "1" };
const present = spawnSync(python, ["-c", "import torch"], { env }).status === 0;
if (!present) console.warn("PyTorch parity is skipped: apt-get install python3-torch");

const TIME = 40;
const CLASSES = 6;

const WHOLE_BATCH = `
import json, sys, torch
given = json.load(sys.stdin)
weight = torch.tensor(given["weight"]).reshape(${CLASSES}, 3).requires_grad_()
bias = torch.tensor(given["bias"]).requires_grad_()
x = torch.tensor(given["x"]).reshape(2, ${TIME}, 3)
y = torch.tensor(given["y"]).reshape(2, ${TIME})
loss = torch.nn.functional.cross_entropy((x @ weight.T + bias).flatten(0, 1), y.flatten())
loss.backward()
print(json.dumps({ "loss": loss.item(), "weight": weight.grad.flatten().tolist(), "bias": bias.grad.tolist() }))
`;

it.skipIf(!present)("rows of 5 and 39 labels that count weigh 5 and 39", async () => {
  const x = noise([2, TIME, 3], 4);
  const labels = Array.from({ length: 2 * TIME }, (_, i) =>
    i < 5 || (i >= TIME && i < TIME + 39) ? (i * i) % CLASSES : -100,
  );
  const y = ints(labels, [2, TIME]);
  const trainer = tinyTrainer({
    model: linear(3, CLASSES),
    loss: crossEntropy(),
    optimizer: sgd({ lr: 1 }),
    train: new DataLoader({ x, y }, { batchSize: 1 }),
    accumulate: 2,
  });
  const before = await trainer.stateDict();
  const { metrics } = await trainer.fit();
  const after = await trainer.stateDict();
  const grad = (name: string): number[] => [...before[name]!.data].map((value, i) => value - after[name]!.data[i]!);

  const [weight, bias] = [before["weight"]!, before["bias"]!].map(({ data }) => [...data]);
  const input = JSON.stringify({ weight, bias, x: [...x.data], y: labels });
  const { stdout, stderr } = spawnSync(python, ["-c", WHOLE_BATCH], { env, input, encoding: "utf8" });
  expect(stderr).toBe("");
  const torch = JSON.parse(stdout) as { loss: number; weight: number[]; bias: number[] };
  expect(metrics["train/loss"]).toBeCloseTo(torch.loss, 5);
  expect(maxError(grad("weight"), torch.weight)).toBeLessThan(1e-6);
  expect(maxError(grad("bias"), torch.bias)).toBeLessThan(1e-6);
  await trainer.close();
});
