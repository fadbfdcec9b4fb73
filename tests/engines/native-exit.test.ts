// A program that trains on the native engine and does not close its trainer ends by itself, threads or not.
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

const from = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);

const PROGRAM = `
import { Trainer } from ${from("index.ts")};
import { DataLoader } from ${from("data/index.ts")};
import { linear, mse } from ${from("nn/index.ts")};
import { sgd } from ${from("optim/index.ts")};
import { NativeEngine } from ${from("engines/native/native-engine.ts")};
const square = { data: new Float32Array(256 * 256), shape: [256, 256] };
const trainer = new Trainer({
  model: linear(256, 256),
  loss: mse(),
  optimizer: sgd({ lr: 0.01 }),
  train: new DataLoader({ x: square, y: square }, { batchSize: 256 }),
  engine: new NativeEngine({ threads: 2, warn: (message) => console.log(message) }),
  epochs: 1,
});
console.log((await trainer.fit()).status);
`;

test("nothing that the engine has started holds the process", { timeout: 120_000 }, () => {
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "-e", PROGRAM],
    // Its training answers to other signals, and would go on waiting.
    { encoding: "utf8", timeout: 60_000, killSignal: "SIGKILL" },
  );
  expect({ status, signal, stdout, stderr }).toEqual({ status: 0, signal: null, stdout: "completed\n", stderr: "" });
});
