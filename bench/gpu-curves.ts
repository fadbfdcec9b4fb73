// The loss of a small GPT over 1,000 steps: hookline in float32 and bf16 beside PyTorch in float32 and under autocast, from
// the same weights on the same batches. Python is HOOKLINE_BENCH_PYTHON or python3.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Trainer, type HostArray } from "hookline";
import { DataLoader } from "hookline/data";
import { crossEntropy, initKey } from "hookline/nn";
import { adamw } from "hookline/optim";
import { XlaEngine, type XlaOptions } from "hookline/xla";
import { EngineError } from "../src/core/errors.ts";
import { gptModel, type GptSize } from "./lib/gpu-models.ts";
import type { Report } from "./lib/report.ts";

const SIZE: GptSize = { layers: 4, width: 128, heads: 4, vocabulary: 256, sequences: 16, tokens: 128 };
const STEPS = Number(process.env.HOOKLINE_BENCH_STEPS ?? 1000);
/** One loss is noisy: curves are compared by the means of so many. */
const MEAN_OF = 25;
/** Every batch is seen four times. */
const BATCHES = 250;
const LR = 5e-4;

const OURS = {
  float32: { precision: "float32" },
  bf16: { precision: "bf16" },
  "bf16, not deterministic": { precision: "bf16", deterministic: false },
} as const satisfies Record<string, XlaOptions>;
const PYTORCH = { "PyTorch float32": "float32", "PyTorch autocast": "autocast" } as const;
const FROM = "float32";

export async function run(): Promise<Report[]> {
  const curves: Record<string, number[]> = {};
  const { x, y } = text();
  const weights = gptModel(SIZE).init(initKey(0));
  try {
    for (const [name, options] of Object.entries(OURS)) curves[name] = await ours(options, x, y);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    console.error(`Nothing was compared, since there is no GPU to use. ${error.message}`);
    return [];
  }
  for (const [name, precision] of Object.entries(PYTORCH)) {
    try {
      curves[name] = pytorch(precision, weights, x, y);
    } catch (error) {
      console.error(`${name} cannot be compared here. ${(error as Error).message}`);
    }
  }
  return [report(curves)];
}

/** The pages of docs/, byte by byte. Every row begins somewhere else. */
function text(): { x: HostArray; y: HostArray } {
  const { vocabulary, sequences, tokens } = SIZE;
  const folder = new URL("../docs/", import.meta.url);
  const pages = readdirSync(folder).filter((name) => name.endsWith(".md"));
  const bytes = Buffer.concat(pages.sort().map((name) => readFileSync(new URL(name, folder))));
  const rows = BATCHES * sequences;
  const [x, y] = [new Int32Array(rows * tokens), new Int32Array(rows * tokens)];
  for (let row = 0; row < rows; row++) {
    // A prime, so that neighbours in the text are in different batches.
    const from = (row * 7919 * tokens) % (bytes.length - tokens - 1);
    for (let i = 0; i < tokens; i++) {
      x[row * tokens + i] = bytes[from + i]! % vocabulary;
      y[row * tokens + i] = bytes[from + i + 1]! % vocabulary;
    }
  }
  return { x: { data: x, shape: [rows, tokens] }, y: { data: y, shape: [rows, tokens] } };
}

async function ours(options: XlaOptions, x: HostArray, y: HostArray): Promise<number[]> {
  const engine = new XlaEngine(options);
  const losses: number[] = [];
  const trainer = new Trainer({
    engine,
    model: gptModel(SIZE),
    loss: crossEntropy(),
    optimizer: adamw({ lr: LR, weightDecay: 0.01 }),
    train: new DataLoader({ x, y }, { batchSize: SIZE.sequences }),
    steps: STEPS,
    signals: false,
  });
  trainer.on("stepEnd", (ctx) => void losses.push(ctx.loss));
  await trainer.fit();
  await trainer.close();
  await engine.close();
  return losses;
}

function pytorch(
  precision: string,
  weights: Readonly<Record<string, HostArray>>,
  x: HostArray,
  y: HostArray,
): number[] {
  const folder = mkdtempSync(join(tmpdir(), "hookline-curves-"));
  const write = (name: string, { data }: HostArray): void =>
    writeFileSync(join(folder, name), new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  try {
    write("x", x);
    write("y", y);
    for (const [name, array] of Object.entries(weights)) write(name, array);
    const shapes = Object.fromEntries(Object.entries(weights).map(([name, { shape }]) => [name, shape]));
    writeFileSync(join(folder, "setup.json"), JSON.stringify({ ...SIZE, shapes, lr: LR, steps: STEPS, precision }));
    const python = process.env.HOOKLINE_BENCH_PYTHON ?? "python3";
    const script = fileURLToPath(new URL("./lib/gpu-curve.py", import.meta.url));
    const out = execFileSync(python, ["-W", "ignore", script, folder], {
      maxBuffer: 2 ** 26,
      stdio: ["ignore", "pipe", "pipe"],
    });
    return JSON.parse(out.toString()) as number[];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function means(losses: readonly number[]): number[] {
  const count = Math.floor(losses.length / MEAN_OF);
  return Array.from({ length: count }, (_, i) => {
    const part = losses.slice(i * MEAN_OF, (i + 1) * MEAN_OF);
    return part.reduce((sum, loss) => sum + loss, 0) / part.length;
  });
}

/** The largest relative difference of the means, in percent. */
function difference(a: readonly number[] | undefined, b: readonly number[] | undefined): number | undefined {
  if (!a || !b) return undefined;
  const [left, right] = [means(a), means(b)];
  return 100 * Math.max(...left.map((value, i) => Math.abs(value - right[i]!) / right[i]!));
}

function report(curves: Readonly<Record<string, readonly number[]>>): Report {
  const names = [...Object.keys(OURS), ...Object.keys(PYTORCH)];
  const at = Array.from({ length: Math.floor(STEPS / MEAN_OF) }, (_, i) => i);
  const shown = at.filter((i) => i === 0 || (i + 1) % Math.max(1, Math.floor(at.length / 10)) === 0);
  const compared = (a: string, b: string) => ({
    what: `${a} against ${b}, largest difference of the curves`,
    measured: difference(curves[a], curves[b]),
    unit: "%",
    limit: 2,
    must: true,
  });
  return {
    name: "gpu-curves",
    title: `Loss of a GPT of ${SIZE.layers} × ${SIZE.width} on the same batches, means of ${MEAN_OF} steps`,
    columns: names,
    rows: shown.map((i): Report["rows"][number] => [
      `to step ${(i + 1) * MEAN_OF}`,
      ...names.map((name) => curves[name] && means(curves[name])[i]),
    ]),
    aims: [
      compared("bf16", FROM),
      compared("bf16, not deterministic", FROM),
      compared("bf16", "PyTorch autocast"),
      compared("bf16, not deterministic", "PyTorch autocast"),
      compared(FROM, "PyTorch float32"),
    ],
  };
}
