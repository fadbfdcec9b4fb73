// A model on the xla engine in a process of its own, asked line by line for some steps:
// `gpu-process.ts <model> <bare|deterministic|trainer|hooks>`. Losses are read only at the end of them, as in a training
// that nobody watches.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { gradientMonitor, logger, modelCheckpoint, progressBar, Trainer, type Model } from "hookline";
import { initKey } from "hookline/nn";
import type { Optimizer } from "hookline/optim";
import { XlaEngine } from "hookline/xla";
import type { Buffer } from "../../src/engines/engine.ts";
import { bareStep, GPU_MODELS, type GpuModel, type Setup } from "./gpu-models.ts";

/** The program alone, also with deterministic kernels; by a trainer; by a trainer with hooks. */
export type GpuWay = "bare" | "deterministic" | "trainer" | "hooks";

export interface GpuAsk {
  readonly steps: number;
}

export interface GpuAnswer {
  /** Of one step. */
  readonly ms: number;
  readonly loss: number;
}

type Take = (steps: number) => Promise<GpuAnswer>;
type Buffers = Readonly<Record<string, Buffer>>;
type Step = (...args: unknown[]) => Promise<[[Buffers, Record<string, Buffers>], Buffer]>;

async function bare(engine: XlaEngine, setup: Setup): Promise<Take> {
  const rule = setup.optimizer as Optimizer;
  const named = <T, R>(of: Readonly<Record<string, T>>, make: (value: T) => R): Record<string, R> =>
    Object.fromEntries(Object.entries(of).map(([name, value]) => [name, make(value)]));
  const host = (setup.model as Model).init(initKey(0));
  let params: Buffers = named(host, (array) => engine.put(array));
  let slots: Record<string, Buffers> = named(host, ({ data, shape }) =>
    Object.fromEntries(rule.slots.map((slot) => [slot, engine.put({ data: new Float32Array(data.length), shape })])),
  );
  const hyper = named(rule.hyper(rule.defaults, 1), (value) => engine.put({ data: Float32Array.of(value), shape: [] }));
  setup.train.begin(0, 0);
  const { x, y } = (await setup.train.next())!;
  const batch = [engine.put(x!), engine.put(y!)];
  const step = engine.jit(bareStep(setup) as never, { donate: [0, 1] }) as unknown as Step;
  return async (steps) => {
    const begun = performance.now();
    let loss: Buffer | undefined;
    for (let i = 0; i < steps; i++) {
      if (loss) engine.free(loss);
      const made = step(params, slots, ...batch, hyper);
      [[params, slots], loss] = made instanceof Promise ? await made : made;
    }
    const [value] = engine.read(loss!);
    engine.free(loss!);
    return { ms: (performance.now() - begun) / steps, loss: value! };
  };
}

/** The bar is drawn and thrown away: what a terminal does with it is not measured. */
const hooks = (steps: number) => [
  progressBar({ write: () => undefined }),
  logger("jsonl", { every: 10 }),
  gradientMonitor({ every: 100 }),
  modelCheckpoint({ every: steps }),
];

function trained(engine: XlaEngine, setup: Setup, runDir: string | undefined, saveEvery: number): Take {
  let [left, steps, begun] = [0, 0, 0];
  let done: (answer: GpuAnswer) => void;
  let goOn: (() => void) | undefined;
  const trainer = new Trainer({
    ...setup,
    engine,
    signals: false,
    steps: 10 ** 9,
    ...(runDir !== undefined && { runDir, hooks: hooks(saveEvery) }),
  });
  trainer.on("stepEnd", (ctx) => {
    if (--left > 0) return undefined;
    const { loss } = ctx;
    done({ ms: (performance.now() - begun) / steps, loss });
    return new Promise<void>((resolve) => (goOn = resolve));
  });
  return (asked) =>
    new Promise((resolve, reject) => {
      [left, steps, begun, done] = [asked, asked, performance.now(), resolve];
      if (goOn) goOn();
      else void trainer.fit().catch(reject);
    });
}

const [model, way, saveEvery] = process.argv.slice(2) as [GpuModel, GpuWay, string];
const { precision, setup } = GPU_MODELS[model];
const engine = new XlaEngine({ precision, deterministic: way === "deterministic" });
const runDir = way === "hooks" ? mkdtempSync(join(tmpdir(), "hookline-gpu-")) : undefined;
const take =
  way === "trainer" || way === "hooks"
    ? trained(engine, setup(), runDir, Number(saveEvery))
    : await bare(engine, setup());

console.log(JSON.stringify({ version: engine.device }));
for await (const line of createInterface(process.stdin)) {
  console.log(JSON.stringify(await take((JSON.parse(line) as GpuAsk).steps)));
}
if (runDir !== undefined) rmSync(runDir, { recursive: true, force: true });
process.exit(0);
