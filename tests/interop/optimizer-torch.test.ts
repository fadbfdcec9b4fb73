// Full checkpoints of PyTorch, read and written again here, train on there as if nothing had happened.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeTorchCheckpoint } from "../../src/checkpoint/formats/torch/torch-checkpoint.ts";
import { writeBack } from "./optimizer-write.ts";

const python = "/usr/bin/python3";
const env = { ...process.env, OMP_NUM_THREADS: "1" };
const present = spawnSync(python, ["-c", "import torch"], { env }).status === 0;
if (!present) console.warn("checkpoints of PyTorch are skipped: apt-get install python3-torch");

describe.skipIf(!present)("full checkpoints from and for PyTorch", () => {
  const folder = mkdtempSync(join(tmpdir(), "optimizer-"));
  let output = "";
  const ask = (task: string): string => {
    const script = fileURLToPath(new URL("./optimizer-torch.py", import.meta.url));
    const run = spawnSync(python, ["-W", "ignore", script, folder, task], { env, encoding: "utf8" });
    if (run.status !== 0) throw new Error(run.stdout + run.stderr);
    return run.stdout;
  };

  beforeAll(async () => {
    ask("write");
    await writeBack(folder);
    output = ask("check");
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("go on with the same numbers, bit for bit, and halves are rounded as there", () => {
    expect(output.split("\n").filter((line) => line.startsWith("ok: "))).toHaveLength(10);
    expect(output).toMatch(/all good\n$/);
  });

  it("give the hyperparameters of each group, the count of updates and the slots", () => {
    const file = readFileSync(join(folder, "theirs", "adamw-groups.pt"));
    const groups = ["weight", "bias"].map((kind) => [0, 2, 4].map((layer) => `${layer}.${kind}`));
    const { optimizers, step, epoch } = decodeTorchCheckpoint(file, "adamw-groups.pt", { paramNames: groups });
    expect({ step, epoch }).toEqual({ step: 3, epoch: 1 });
    const [{ slots, ...adamw }] = optimizers as [(typeof optimizers)[0]];
    const common = { betas: [0.8, 0.95], eps: 1e-6 };
    expect(adamw).toMatchObject({
      name: "optimizer",
      updates: 3,
      groups: [
        { params: groups[0], values: { ...common, lr: 0.01, weightDecay: 0.1 } },
        { params: groups[1], values: { ...common, lr: 0.002, weightDecay: 0 } },
      ],
    });
    expect(Object.keys(slots)).toHaveLength(12);
    expect(slots["exp_avg/2.weight"]!.shape).toEqual([16, 16]);
  });
});
