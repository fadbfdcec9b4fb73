// The running statistics of averaged parameters, against PyTorch's update_bn over the same batches.
import { spawnSync } from "node:child_process";
import { swa, type HostTensors } from "hookline";
import { DataLoader } from "hookline/data";
import { batchNorm, linear, mse, sequential, tanh } from "hookline/nn";
import { sgd } from "hookline/optim";
import { tinyTrainer } from "hookline/testing";
import { expect, it } from "vitest";
import { maxError, noise } from "../support/gradcheck.ts";

const python = "/usr/bin/python3";
const env = { ...process.env, OMP_NUM_THREADS: "1" };
const present = spawnSync(python, ["-c", "import torch"], { env }).status === 0;
if (!present) console.warn("PyTorch parity is skipped: apt-get install python3-torch");

const ROWS = 22;
const BATCH = 8;

const UPDATE_BN = `
import json, sys, torch
from torch import nn
from torch.optim.swa_utils import update_bn
given = json.load(sys.stdin)
model = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Linear(5, 1))
state = model.state_dict()
model.load_state_dict({ name: torch.tensor(given["weights"][name]).reshape(t.shape).to(t.dtype) for name, t in state.items() })
x = torch.tensor(given["x"]).reshape(${ROWS}, 3)
update_bn(x.split(${BATCH}), model)
print(json.dumps({ name: t.flatten().tolist() for name, t in model.state_dict().items() if "running" in name }))
`;

const plain = (tensors: HostTensors): Record<string, number[]> =>
  Object.fromEntries(Object.entries(tensors).map(([name, { data }]) => [name, [...data]]));

it.skipIf(!present)("swa leaves the statistics of update_bn", async () => {
  const x = noise([ROWS, 3], 4);
  const y = noise([ROWS, 1], 5);
  await using trainer = tinyTrainer({
    model: sequential(linear(3, 5), batchNorm(5), tanh(), linear(5, 1)),
    loss: mse(),
    optimizer: sgd({ lr: 0.5 }),
    train: new DataLoader({ x, y }, { batchSize: BATCH }),
    epochs: 4,
    hooks: [swa({ from: "25%" })],
  });
  await trainer.fit();
  const weights = plain(await trainer.stateDict());
  const input = JSON.stringify({ weights, x: [...x.data] });
  const { stdout, stderr } = spawnSync(python, ["-c", UPDATE_BN], { env, input, encoding: "utf8" });
  expect(stderr).toBe("");
  const torch = JSON.parse(stdout) as Record<string, number[]>;
  expect(Object.keys(torch)).toEqual(["1.running_mean", "1.running_var"]);
  for (const [name, values] of Object.entries(torch)) expect(maxError(weights[name]!, values)).toBeLessThan(1e-5);
});
