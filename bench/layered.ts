// A GPT trained layer by layer, beside one program and beside one program of `remat` layers: time, memory, compiling.
import { Trainer, type Tensor } from "hookline";
import { DataLoader } from "hookline/data";
import {
  block,
  crossEntropy,
  deferredLinear,
  embedding,
  gelu,
  layerNorm,
  linear,
  multiHeadAttention,
  remat,
  sequential,
  stack,
} from "hookline/nn";
import { adamw } from "hookline/optim";
import { peakEngine } from "./lib/peak-engine.ts";
import type { Report } from "./lib/report.ts";
import { median } from "./lib/stats.ts";
import { inTurns, Turns } from "./lib/turns.ts";

const [FEATURES, HEADS, VOCABULARY, ROWS, TIME] = [128, 4, 4096, 8, 128];
const DEPTHS = [6, 12] as const;
const CONTENDERS = ["one program", "remat", "layered"] as const;
/** The first ones compile and warm up. */
const [STEPS, WARM] = [14, 3];

type Contender = (typeof CONTENDERS)[number];

interface Figures {
  readonly ms: number;
  readonly peakMiB: number;
  readonly compileSeconds: number;
}

const transformerBlock = () =>
  block(
    {
      ln1: layerNorm(FEATURES),
      attn: multiHeadAttention(FEATURES, HEADS, { causal: true }),
      ln2: layerNorm(FEATURES),
      mlp: sequential(linear(FEATURES, 4 * FEATURES), gelu(), linear(4 * FEATURES, FEATURES)),
    },
    ({ ln1, attn, ln2, mlp }, x: Tensor) => {
      const h = x.ref.add(attn(ln1(x)));
      return h.ref.add(mlp(ln2(h)));
    },
  );

async function train(contender: Contender, depth: number, turns: Turns): Promise<Figures> {
  const ids = {
    data: Int32Array.from({ length: ROWS * TIME }, (_, i) => (i * i + 3 * i) % VOCABULARY),
    shape: [ROWS, TIME],
  };
  const times: number[] = [];
  const engine = peakEngine();
  const trainer = new Trainer({
    model: stack({
      embed: embedding(VOCABULARY, FEATURES),
      block: contender === "remat" ? remat(transformerBlock()) : transformerBlock(),
      count: depth,
      head: sequential(layerNorm(FEATURES), deferredLinear(FEATURES, VOCABULARY, { bias: false })),
    }),
    layered: contender === "layered",
    loss: crossEntropy(),
    optimizer: adamw({ lr: 1e-3 }),
    train: inTurns(new DataLoader({ x: ids, y: ids }, { batchSize: ROWS }), turns, (ms) => void times.push(ms)),
    steps: STEPS,
    engine,
    signals: false,
  });
  await trainer.fit();
  turns.leave();
  const figures = {
    ms: median(times.slice(WARM)),
    peakMiB: engine.peakBytes / 2 ** 20,
    compileSeconds: engine.compileSeconds,
  };
  await trainer.close();
  await engine.close();
  return figures;
}

export async function run(): Promise<Report> {
  const all = new Map<string, Figures>();
  for (const depth of DEPTHS) {
    const turns = new Turns(CONTENDERS.length);
    const figures = await Promise.all(CONTENDERS.map((contender) => train(contender, depth, turns)));
    for (const [i, contender] of CONTENDERS.entries()) all.set(`${contender}, ${depth} layers`, figures[i]!);
  }
  const of = (contender: Contender, depth: number): Figures => all.get(`${contender}, ${depth} layers`)!;
  const [shallow, deep] = DEPTHS;
  const ratio = (what: string, key: keyof Figures, a: Figures, b: Figures, limit: number) => ({
    what,
    measured: a[key] / b[key],
    unit: "×",
    limit,
  });
  return {
    name: "layered",
    title: `Layer by layer: a GPT of ${FEATURES} features, ${VOCABULARY} tokens, ${ROWS} × ${TIME} a batch, native`,
    columns: ["ms a step", "peak MiB", "compile s"],
    rows: [...all].map(([label, { ms, peakMiB, compileSeconds }]) => [label, ms, peakMiB, compileSeconds]),
    aims: [
      ratio("memory ÷ one program", "peakMiB", of("layered", deep), of("one program", deep), 0.6),
      ratio("time ÷ one program", "ms", of("layered", deep), of("one program", deep), 1.4),
      ratio("time ÷ remat", "ms", of("layered", deep), of("remat", deep), 1.1),
      ratio("compile, twice as deep", "compileSeconds", of("layered", deep), of("layered", shallow), 1.3),
    ],
  };
}
