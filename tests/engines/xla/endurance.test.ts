// What only a real GPU shows: long runs, kills, and memory that is full. `npm run gpu -- endurance`; skipped without a GPU.
import { spawn } from "node:child_process";
import { describe, expect, it } from "vitest";
import { Trainer } from "hookline";
import { DataLoader } from "hookline/data";
import { crossEntropy, linear, mse, relu, sequential } from "hookline/nn";
import { adamw, sgd } from "hookline/optim";
import { XlaEngine } from "hookline/xla";
import { compiled } from "../../support/programs.ts";
import { tempDir } from "../../support/temp-dir.ts";

const MIB = 2 ** 20;
const child = compiled(new URL("./killed-child.ts", import.meta.url));

async function isGpu(): Promise<boolean> {
  try {
    const engine = new XlaEngine();
    const { device } = engine;
    await engine.close();
    return /nvidia|amd/i.test(device);
  } catch {
    return false;
  }
}

const zeros = (...shape: number[]) => ({ data: new Float32Array(shape.reduce((a, b) => a * b)), shape });

/** What the training prints at its end; killed instead when it has made so many steps. */
function train(runDir: string, precision: string, killAt = Infinity): Promise<string> {
  const running = spawn(process.execPath, [child, runDir, precision], { stdio: ["ignore", "pipe", "pipe"] });
  let [out, errors] = ["", ""];
  running.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  running.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
    const steps = errors.match(/^\d+$/gm) ?? [];
    if (steps.some((step) => Number(step) >= killAt)) running.kill("SIGKILL");
  });
  return new Promise((resolve, reject) =>
    running.on("close", (code, signal) => {
      if (code === 0 || signal === "SIGKILL") resolve(out);
      else reject(new Error(errors));
    }),
  );
}

describe.runIf(await isGpu())("on a GPU", () => {
  it.each(["float32", "bf16"])("a run in %s that was killed five times ends with the same bits", async (precision) => {
    const whole = await train(tempDir(), precision);
    const runDir = tempDir();
    for (const step of [37, 151, 152, 344, 590]) expect(await train(runDir, precision, step)).toBe("");
    expect(JSON.parse(await train(runDir, precision))).toEqual(JSON.parse(whole));
  });

  it("memory stays flat over 100,000 steps", async () => {
    const engine = new XlaEngine();
    const trainer = new Trainer({
      model: sequential(linear(16, 32), relu(), linear(32, 4)),
      loss: crossEntropy(),
      optimizer: adamw({ lr: 1e-3 }),
      train: new DataLoader({ x: zeros(256, 16), y: { data: new Int32Array(256), shape: [256] } }, { batchSize: 32 }),
      steps: 100_000,
      signals: false,
      engine,
    });
    const used: { readonly device: number; readonly host: number }[] = [];
    trainer.on("stepEnd", { every: 25_000 }, (ctx) => {
      globalThis.gc?.();
      used.push({ device: ctx.deviceMemory!.bytesInUse, host: process.memoryUsage.rss() });
    });
    await trainer.fit();
    await trainer.close();
    await engine.close();
    const [early, late] = [used[1]!, used[3]!];
    expect(late.device - early.device).toBeLessThan(MIB);
    expect(late.host - early.host).toBeLessThan(64 * MIB);
  });

  it("a batch that is too large is an error that says what the program needs, and a smaller one trains", async () => {
    const engine = new XlaEngine();
    const wide = 2 ** 19;
    const fit = async (batchSize: number) => {
      const trainer = new Trainer({
        model: sequential(linear(16, wide), relu(), linear(wide, 4)),
        loss: mse(),
        optimizer: sgd({ lr: 0.01 }),
        train: new DataLoader({ x: zeros(batchSize, 16), y: zeros(batchSize, 4) }, { batchSize }),
        steps: 2,
        signals: false,
        engine,
      });
      try {
        return await trainer.fit();
      } finally {
        await trainer.close();
      }
    };
    await expect(fit(2 ** 17)).rejects.toThrow(/too little memory.*The program needs/s);
    expect((await fit(64)).status).toBe("completed");
    await engine.close();
  });
});
