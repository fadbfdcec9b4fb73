// LoRA of language models on a GPU beside transformers with PEFT, taking turns: thousand tokens a second. Rank 16 on all
// matrices of the layers, AdamW, bf16, 16 rows of 512 tokens, random weights. `--shape=135m` or `1b` measures one of them, and
// `--shape=tiny` a very small one, to try it without a GPU; `--packed` also rows of two texts each. Python is
// HOOKLINE_BENCH_PYTHON or python3.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loraPeer, loraProcess, type LoraPeer } from "./lib/gpu-contenders.ts";
import { LORA_MODELS, type LoraModelName, writeLoraModel } from "./lib/gpu-lora-models.ts";
import type { LoraWay } from "./lib/gpu-lora-process.ts";
import { gpuRounds, hasGpu } from "./lib/gpu-rounds.ts";
import type { Aim, Report } from "./lib/report.ts";
import { median } from "./lib/stats.ts";

const [WARM_UP, ROUNDS, STEPS] = [4, 5, 6];
const WAYS: readonly LoraWay[] = ["bare", "trainer", "layered"];
const PEERS: readonly LoraPeer[] = ["compile", "eager"];
type Name = LoraWay | LoraPeer;

export async function run(): Promise<Report[]> {
  if (!(await hasGpu())) return [];
  const asked = process.argv.find((arg) => arg.startsWith("--shape="))?.slice("--shape=".length);
  const models = Object.keys(LORA_MODELS) as LoraModelName[];
  const chosen = models.filter((model) => (asked === undefined ? model !== "tiny" : model === asked));
  if (chosen.length === 0) throw new Error(`--shape is one of ${models.join(", ")}`);
  const all = new Map<LoraModelName, ReadonlyMap<Name, readonly number[]>>();
  for (const model of chosen) all.set(model, await compare(model));
  return [report(all)];
}

async function compare(model: LoraModelName): Promise<ReadonlyMap<Name, readonly number[]>> {
  const folder = mkdtempSync(join(tmpdir(), "hookline-bench-lora-"));
  try {
    writeLoraModel(folder, LORA_MODELS[model]);
    const ways: readonly LoraWay[] = process.argv.includes("--packed") ? [...WAYS, "packed"] : WAYS;
    const starting = [
      ...ways.map((way) => [way, loraProcess(folder, model, way)] as const),
      ...PEERS.map((peer) => [peer, loraPeer(peer, model)] as const),
    ];
    const { title } = LORA_MODELS[model];
    return await gpuRounds<Name>(starting, { title, beside: PEERS, warmUp: WARM_UP, rounds: ROUNDS, steps: STEPS });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function report(all: ReadonlyMap<LoraModelName, ReadonlyMap<Name, readonly number[]>>): Report {
  const rows: Report["rows"][number][] = [];
  const aims: Aim[] = [];
  for (const [model, times] of all) {
    const { title, rows: batch, length } = LORA_MODELS[model];
    /** Tokens in a millisecond. */
    const rate = (name: Name): number | undefined => {
      const taken = times.get(name);
      return taken?.length ? (batch * length) / median(taken) : undefined;
    };
    const ratio = (a: Name, b: Name): number | undefined => {
      const [first, second] = [rate(a), rate(b)];
      return first && second && first / second;
    };
    rows.push([
      `${title}, ${batch} × ${length}`,
      ...[...WAYS, "packed" as const, ...PEERS].map(rate),
      ratio("trainer", "eager"),
      ratio("trainer", "compile"),
      ratio("trainer", "bare"),
    ]);
    const aim = (against: LoraPeer, limit: number): Aim => ({
      what: `${title}: by Trainer, tokens/s ÷ ${against === "eager" ? "transformers" : "torch.compile"}`,
      measured: ratio("trainer", against),
      unit: "×",
      limit,
      atLeast: true,
      must: true,
    });
    aims.push(aim("eager", 1.5), aim("compile", 1));
  }
  return {
    name: "gpu-lora",
    title: `LoRA on a GPU, bf16: thousand tokens a second, medians of ${ROUNDS} rounds of ${STEPS} steps in turns`,
    columns: [
      "xla bare",
      "Trainer",
      "layer by layer",
      "packed rows",
      "torch.compile",
      "transformers",
      "Trainer ÷ transformers",
      "Trainer ÷ torch.compile",
      "Trainer ÷ bare",
    ],
    rows,
    aims,
  };
}
