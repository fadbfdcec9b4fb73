// Optimizers and schedules against PyTorch itself, where Debian's python3-torch is installed.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { adam, adamw, cosine, exponential, linear, oneCycle, plateau, rmsprop, sgd, step } from "hookline/optim";
import { describe, expect, test } from "vitest";
import type { Optimizer, Schedule } from "../../src/core/optimizer.ts";
import { gradients, initial, relativeError, runOptimizer } from "./optim-run.ts";

const total = 40;
const observed = Array.from({ length: total }, (_, t) => Math.max(0.5, 2 - t * 0.1) + (t % 4) * 0.05);

const optimizers: Record<string, [torch: string, ours: Optimizer]> = {
  sgd: ["SGD(p, lr=0.1, weight_decay=0.01)", sgd({ lr: 0.1, weightDecay: 0.01 })],
  momentum: [
    "SGD(p, lr=0.1, momentum=0.9, dampening=0.2, weight_decay=0.01)",
    sgd({ lr: 0.1, momentum: 0.9, dampening: 0.2, weightDecay: 0.01 }),
  ],
  nesterov: ["SGD(p, lr=0.1, momentum=0.9, nesterov=True)", sgd({ lr: 0.1, momentum: 0.9, nesterov: true })],
  adam: ["Adam(p)", adam()],
  adamL2: [
    "Adam(p, lr=0.05, betas=(0.8, 0.9), eps=1e-4, weight_decay=0.1)",
    adam({ lr: 0.05, betas: [0.8, 0.9], eps: 1e-4, weightDecay: 0.1 }),
  ],
  adamw: ["AdamW(p)", adamw()],
  adamwDecay: ["AdamW(p, lr=0.05, weight_decay=0.3)", adamw({ lr: 0.05, weightDecay: 0.3 })],
  rmsprop: ["RMSprop(p)", rmsprop()],
  rmspropAll: [
    "RMSprop(p, lr=0.02, alpha=0.9, momentum=0.8, centered=True, weight_decay=0.02)",
    rmsprop({ lr: 0.02, alpha: 0.9, momentum: 0.8, centered: true, weightDecay: 0.02 }),
  ],
};

const schedules: Record<string, [torch: string, ours: Schedule]> = {
  cosine: [`CosineAnnealingLR(o, T_max=${total}, eta_min=0.1)`, cosine({ min: 0.1 })],
  oneCycle: [`OneCycleLR(o, max_lr=1.0, total_steps=${total})`, oneCycle()],
  oneCycleShort: [
    `OneCycleLR(o, max_lr=1.0, total_steps=${total}, pct_start=0.55, div_factor=5, final_div_factor=10)`,
    oneCycle({ pctStart: 0.55, divFactor: 5, finalDivFactor: 10 }),
  ],
  step: ["StepLR(o, step_size=7)", step({ every: 7 })],
  exponential: ["ExponentialLR(o, gamma=0.93)", exponential({ gamma: 0.93 })],
  linear: [
    "LinearLR(o, start_factor=0.25, end_factor=0.75, total_iters=20)",
    linear({ start: 0.25, end: 0.75, total: 20 }),
  ],
  plateau: [
    "ReduceLROnPlateau(o, patience=2, factor=0.5, cooldown=1, threshold=0.01, min_lr=0.05)",
    plateau({ patience: 2, factor: 0.5, cooldown: 1, threshold: 0.01, minFactor: 0.05 }),
  ],
};

const script = `
import json, sys
try:
    import torch
except ImportError:
    sys.exit(print("null"))
from torch.optim import *
from torch.optim.lr_scheduler import *
job = json.load(sys.stdin)
out = {"optimizers": {}, "schedules": {}}
for name, code in job["optimizers"].items():
    w = torch.tensor(job["initial"])
    o = eval(code, globals(), {"p": [w]})
    for g in job["gradients"]:
        w.grad = torch.tensor(g)
        o.step()
    state = {k: v.tolist() for k, v in o.state[w].items() if torch.is_tensor(v) and v.shape == w.shape}
    out["optimizers"][name] = {"param": w.tolist(), "slots": state}
for name, code in job["schedules"].items():
    o = SGD([torch.zeros(1)], lr=1.0)
    s = eval(code, globals(), {"o": o})
    curve = []
    for value in job["observed"]:
        curve.append(o.param_groups[0]["lr"])
        o.step()
        if len(curve) < len(job["observed"]):
            s.step(value) if name == "plateau" else s.step()
    out["schedules"][name] = curve
json.dump(out, sys.stdout)
`;

interface Answer {
  readonly optimizers: Record<string, { param: number[]; slots: Record<string, number[]> }>;
  readonly schedules: Record<string, number[]>;
}

function askTorch(): Answer | null {
  const codes = (table: Record<string, [string, unknown]>) =>
    Object.fromEntries(Object.entries(table).map(([name, [code]]) => [name, code]));
  const job = { initial, gradients, observed, optimizers: codes(optimizers), schedules: codes(schedules) };
  const env = { ...process.env, OMP_NUM_THREADS: "1" };
  const input = JSON.stringify(job);
  const python = "/usr/bin/python3";
  const answer = existsSync(python)
    ? (JSON.parse(
        execFileSync(python, ["-W", "ignore", "-c", script], { env, input, encoding: "utf8" }),
      ) as Answer | null)
    : null;
  if (answer === null) {
    console.log("skipped: PyTorch is not installed for /usr/bin/python3: apt-get install python3-torch");
  }
  return answer;
}

const torch = askTorch();

describe.skipIf(torch === null)("against PyTorch", () => {
  test.each(Object.keys(optimizers))("optimizer %s", async (name) => {
    const { param, slots } = await runOptimizer(optimizers[name]![1]);
    const expected = torch!.optimizers[name]!;
    expect(relativeError(param, expected.param)).toBeLessThan(1e-5);
    expect(Object.keys(slots).sort()).toEqual(Object.keys(expected.slots).sort());
    for (const [slot, values] of Object.entries(expected.slots)) {
      expect(relativeError(slots[slot]!, values)).toBeLessThan(1e-5);
    }
  });

  test.each(Object.keys(schedules))("schedule %s", (name) => {
    const [, ours] = schedules[name]!;
    const curve = observed.map((value, t) => {
      const factor = ours.factor({ step: t, epoch: t, totalSteps: total, totalEpochs: total });
      ours.observe?.(value);
      return factor;
    });
    expect(relativeError(curve, torch!.schedules[name]!)).toBeLessThan(1e-9);
  });
});
