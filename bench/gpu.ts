// The xla engine on a GPU beside JAX and PyTorch, taking turns: milliseconds a training step. The bare program is what the
// trainer is measured against. Python is HOOKLINE_BENCH_PYTHON or python3.
import { GPT2, operationsPerToken, type GpuModel } from "./lib/gpu-models.ts";
import { gpuPeer, gpuProcess, type GpuPeer } from "./lib/gpu-contenders.ts";
import type { GpuWay } from "./lib/gpu-process.ts";
import { gpuRounds, hasGpu } from "./lib/gpu-rounds.ts";
import type { Report } from "./lib/report.ts";
import { median } from "./lib/stats.ts";

const ROUNDS = 10;
/** Steps before the first round: they compile, also what the hooks need in their 100th step. */
const WARM_UP = 120;
const WAYS: readonly GpuWay[] = ["bare", "deterministic", "trainer", "hooks"];
const PEERS: readonly GpuPeer[] = ["jax", "compile", "torch"];
/** An H100's or H200's with dense bf16, in operations a second. */
const PEAK = 989e12;

interface Case {
  readonly model: GpuModel;
  readonly title: string;
  /** Of a round. */
  readonly steps: number;
  readonly ways: readonly GpuWay[];
  /** Default: all. */
  readonly peers?: readonly GpuPeer[];
}

const CASES: readonly Case[] = [
  { model: "gpt", title: "GPT 4 × 768, 16 × 512 tokens, bf16, AdamW", steps: 100, ways: WAYS },
  {
    model: "gpt-deferred",
    title: "the same GPT, whose loss computes the logits in parts",
    steps: 100,
    ways: ["bare"],
    peers: [],
  },
  { model: "mlp", title: "MLP 784-256-256-10, batch 128, float32", steps: 3000, ways: WAYS },
  { model: "gpt2", title: "GPT-2 124M, 12 × 1024 tokens, bf16, AdamW", steps: 20, ways: ["bare", "trainer"] },
];

type Times = ReadonlyMap<GpuWay | GpuPeer, readonly number[]>;

export async function run(): Promise<Report[]> {
  if (!(await hasGpu())) return [];
  const absent = new Set<GpuPeer>();
  const all = new Map<GpuModel, Times>();
  for (const each of CASES) all.set(each.model, await compare(each, absent));
  return [report(all)];
}

async function compare({ model, title, steps, ways, peers = PEERS }: Case, absent: Set<GpuPeer>): Promise<Times> {
  const present = peers.filter((peer) => !absent.has(peer));
  const starting = [
    ...ways.map((way) => [way, gpuProcess(model, way, steps * ROUNDS)] as const),
    ...present.map((peer) => [peer, gpuPeer(peer, model)] as const),
  ];
  const times = await gpuRounds<GpuWay | GpuPeer>(starting, { title, warmUp: WARM_UP, rounds: ROUNDS, steps });
  for (const peer of present) if (!times.has(peer)) absent.add(peer);
  return times;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

function report(all: ReadonlyMap<GpuModel, Times>): Report {
  const of = (model: GpuModel, name: GpuWay | GpuPeer, middle = median): number | undefined => {
    const times = all.get(model)!.get(name);
    return times?.length ? middle(times) : undefined;
  };
  const ratio = (a: number | undefined, b: number | undefined): number | undefined =>
    a === undefined || b === undefined ? undefined : a / b;
  const columns = [...WAYS, ...PEERS];
  const rows = CASES.map(({ model, title }): Report["rows"][number] => [
    title,
    ...columns.map((name) => of(model, name)),
    of(model, "hooks", mean),
    ratio(of(model, "trainer"), of(model, "bare")),
    ratio(of(model, "hooks"), of(model, "bare")),
    ratio(of(model, "trainer"), of(model, "jax")),
    ratio(of(model, "trainer"), of(model, "compile")),
  ]);
  const { sequences, tokens } = GPT2;
  const rate = (ms: number | undefined): number | undefined => ms && (sequences * tokens * 1000) / ms;
  const share = (ms: number | undefined): number | undefined =>
    ms && (100 * rate(ms)! * operationsPerToken(GPT2)) / PEAK;
  return {
    name: "gpu",
    title: `xla on a GPU: ms a training step, medians of ${ROUNDS} rounds in turns (the mean has a checkpoint in one of them)`,
    columns: [
      "xla bare",
      "bare, deterministic",
      "Trainer",
      "with hooks",
      "JAX",
      "torch.compile",
      "PyTorch",
      "with hooks, mean",
      "Trainer ÷ bare",
      "with hooks ÷ bare",
      "Trainer ÷ JAX",
      "Trainer ÷ torch.compile",
    ],
    rows: [
      ...rows,
      ["GPT-2 124M, tokens/s", ...columns.map((name) => rate(of("gpt2", name)))],
      ["GPT-2 124M, % of 989 TFLOP/s", ...columns.map((name) => share(of("gpt2", name)))],
    ],
    aims: [
      { what: "GPT with hooks", measured: of("gpt", "hooks"), unit: "ms", limit: 6.9, must: true },
      { what: "GPT with hooks", measured: of("gpt", "hooks"), unit: "ms", limit: 5.5 },
      {
        what: "GPT with hooks ÷ bare",
        measured: ratio(of("gpt", "hooks"), of("gpt", "bare")),
        unit: "×",
        limit: 1.03,
        must: true,
      },
      { what: "MLP, bare", measured: of("mlp", "bare"), unit: "ms", limit: 0.06, must: true },
      { what: "MLP by Trainer", measured: of("mlp", "trainer"), unit: "ms", limit: 0.06 },
      {
        what: "GPT-2 124M by Trainer, tokens/s ÷ torch.compile's",
        measured: ratio(of("gpt2", "compile"), of("gpt2", "trainer")),
        unit: "×",
        limit: 1,
        atLeast: true,
        must: true,
      },
    ],
  };
}
