// One measurement on the xla engine, in a process of its own: `gpu-process.ts <model> <precision> <bare|trainer> [steps]`.
// Prints a JSON line. Losses are read only at the end of a round, as a training does that nobody watches.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gradientMonitor, logger, modelCheckpoint, progressBar, Trainer, type Model } from "hookline";
import { initKey } from "hookline/nn";
import type { Optimizer } from "hookline/optim";
import { XlaEngine } from "hookline/xla";
import { bareStep, GPT, gptSetup, mlpSetup } from "./gpu-models.ts";

const [name = "mlp", precision = "float32", how = "bare", count = "200", mode = "deterministic"] =
  process.argv.slice(2);
const steps = Number(count);
const ROUNDS = 3;
const setup = name === "mlp" ? mlpSetup() : gptSetup(GPT);
const engine = new XlaEngine({ precision: precision as "float32" | "bf16", deterministic: mode === "deterministic" });

type Buffers = never;

async function bare(): Promise<{ ms: number[]; loss: number }> {
  const host = (setup.model as Model).init(initKey(0));
  const rule = setup.optimizer as Optimizer;
  const put = (data: Float32Array, shape: readonly number[]) => engine.put({ data, shape });
  let params = Object.fromEntries(
    Object.entries(host).map(([key, { data, shape }]) => [key, put(data as Float32Array, shape)]),
  );
  let slots = Object.fromEntries(
    Object.entries(host).map(([key, { data, shape }]) => [
      key,
      Object.fromEntries(rule.slots.map((slot) => [slot, put(new Float32Array(data.length), shape)])),
    ]),
  );
  const hyper = Object.fromEntries(
    Object.entries(rule.hyper(rule.defaults, 1)).map(([key, value]) => [key, put(Float32Array.of(value), [])]),
  );
  setup.train.begin(0, 0);
  const batch = (await setup.train.next()) as unknown as Record<string, never>;
  const [x, y] = [engine.put(batch.x!), engine.put(batch.y!)];
  const step = engine.jit(bareStep(setup) as never, { donate: [0, 1] }) as unknown as (
    ...args: unknown[]
  ) => Promise<[[Buffers, Buffers], never]>;
  let loss: never | undefined;
  const run = async (): Promise<void> => {
    const made = step(params, slots, x, y, hyper);
    const [[nextParams, nextSlots], value] = made instanceof Promise ? await made : made;
    [params, slots] = [nextParams, nextSlots];
    if (loss !== undefined) engine.free(loss);
    loss = value;
  };
  const ms: number[] = [];
  for (let round = -1; round < ROUNDS; round++) {
    const begun = performance.now();
    const turns = round < 0 ? 20 : steps;
    for (let i = 0; i < turns; i++) await run();
    engine.read(loss!);
    if (round >= 0) ms.push((performance.now() - begun) / turns);
  }
  return { ms, loss: engine.read(loss!)[0]! };
}

async function trained(hooks: "none" | "hooks"): Promise<{ ms: number[]; loss: number }> {
  const dir = mkdtempSync(join(tmpdir(), "hookline-gpu-"));
  const ms: number[] = [];
  let begun = 0;
  const around =
    hooks === "none"
      ? []
      : [
          progressBar({ write: (text) => void process.stderr.write(text) }),
          logger("jsonl", { every: 10 }),
          gradientMonitor({ every: 100 }),
          modelCheckpoint({ every: 10 * steps }),
        ];
  const trainer = new Trainer({
    ...setup,
    engine,
    signals: false,
    steps: 20 + steps * ROUNDS,
    hooks: around,
    ...(hooks === "hooks" && { runDir: dir }),
  });
  trainer.on("stepEnd", (ctx) => {
    if (ctx.step < 20 || (ctx.step - 20) % steps !== 0) return;
    void ctx.loss;
    if (begun > 0) ms.push((performance.now() - begun) / steps);
    begun = performance.now();
  });
  const result = await trainer.fit();
  await trainer.close();
  rmSync(dir, { recursive: true, force: true });
  return { ms, loss: result.metrics["train/loss"]! };
}

const { ms, loss } = how === "bare" ? await bare() : await trained(how === "trainer" ? "none" : "hooks");
const median = [...ms].sort((a, b) => a - b)[Math.floor(ms.length / 2)]!;
console.log(
  JSON.stringify({
    model: name,
    precision,
    how,
    mode,
    ms: median,
    all: ms,
    loss,
    compile: engine.compileSeconds,
    device: engine.device,
    peak: engine.memoryStats?.peakBytesInUse,
  }),
);
await engine.close();
