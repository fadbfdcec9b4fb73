// How a program on the native engine ends: by itself, trainer closed or not, and never by an abort of native code.
import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { compiled, PROGRAMS_VARIABLE } from "../support/programs.ts";

const from = (path: string): string =>
  JSON.stringify(pathToFileURL(compiled(new URL(`../../src/${path}`, import.meta.url))).href);

interface Ended {
  readonly status: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** As a file, since threads inherit Node's options and would refuse those of a program in its arguments. */
function run(program: string, ...args: string[]): Promise<Ended> {
  const file = join(mkdtempSync(join(process.env[PROGRAMS_VARIABLE]!, "native-exit-")), "program.mjs");
  writeFileSync(file, program);
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [file, ...args]);
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => (stdout += String(chunk)));
    child.stderr.on("data", (chunk: Buffer) => (stderr += String(chunk)));
    // A training handles other signals, and would not end.
    const limit = setTimeout(() => child.kill("SIGKILL"), 500_000);
    child.on("close", (status, signal) => {
      clearTimeout(limit);
      resolve({ status, signal, stdout, stderr });
    });
  });
}

const TRAINING = `
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

test("nothing that the engine has started holds the process", async () => {
  expect(await run(TRAINING)).toEqual({ status: 0, signal: null, stdout: "completed\n", stderr: "" });
});

/** Engines whose threads make hundreds of sessions of the matrix library, one after the other, after a first run. */
const BUSY_ENGINES = `
import { numpy as np } from "@jax-js/jax";
import { NativeEngine } from ${from("engines/native/native-engine.ts")};
function busyEngine() {
  const engine = new NativeEngine({ threads: 2 });
  const put = (...shape) => engine.put({ data: new Float32Array(shape[0] * shape[1]), shape });
  const products = engine.jit((x, w) =>
    Array.from({ length: 120 }, (_, i) => np.matmul(x.ref.slice([0, 64 + i]), w.ref).sum()).reduce((a, b) => a.add(b)),
  );
  products(put(184, 64), put(64, 128));
  return engine;
}
`;

test("engines may be closed at any moment", async () => {
  const program = `${BUSY_ENGINES}
    for (let i = 0; i < 8; i++) {
      const engine = busyEngine();
      await new Promise((resolve) => setTimeout(resolve, 100 * i));
      await engine.close();
    }
    console.log("closed");
  `;
  expect(await run(program)).toEqual({ status: 0, signal: null, stdout: "closed\n", stderr: "" });
});

const ENDINGS: [name: string, code: string, status: number][] = [
  ["process.exit", "process.exit(3)", 3],
  ["an uncaught error", 'throw "unexpected"', 1],
];
test.each(ENDINGS)("the process may end at any moment: %s", async (_, code, status) => {
  const program = `${BUSY_ENGINES}
    const engine = busyEngine();
    setTimeout(() => { ${code} }, Number(process.argv[2]));
  `;
  for (const delay of [200, 600, 1000, 1500]) {
    const ended = await run(program, String(delay));
    expect({ status: ended.status, signal: ended.signal }, ended.stderr).toEqual({ status, signal: null });
  }
});
