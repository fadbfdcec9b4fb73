// Fine-tuning beside PyTorch and PEFT on the same cores, taking turns: SmolLM2-135M's shape with random weights.
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  finetuneProcess,
  peftProcess,
  writeBenchModel,
  type Asked,
  type FinetuneAsk,
  type FinetuneFacts,
  type FinetuneTask,
} from "./lib/asked-process.ts";
import type { Aim, Report } from "./lib/report.ts";
import { median } from "./lib/stats.ts";

const LORA = { adapter: true, rows: 4, length: 128, recompute: false } as const;

/** Pairs that take turns; `--only=lora` measures those whose title has it. */
const PAIRS: readonly {
  readonly title: string;
  readonly task: FinetuneTask;
  readonly time: number;
  readonly memory?: number;
}[] = [
  { title: "full, 1 × 128", task: { adapter: false, rows: 1, length: 128, recompute: false }, time: 1.1 },
  { title: "lora, 4 × 128", task: LORA, time: 1.2 },
  { title: "lora layered, 4 × 128", task: { ...LORA, recompute: true }, time: 1.1, memory: 0.8 },
];

/** What no peer takes part in. */
const ALONE: readonly { readonly title: string; readonly task: FinetuneTask }[] = [
  { title: "full layered, 4 × 128", task: { adapter: false, rows: 4, length: 128, recompute: true } },
  { title: "lora layered, int8 base", task: { ...LORA, recompute: true, base: "int8" } },
  { title: "lora layered, int4 base", task: { ...LORA, recompute: true, base: "int4" } },
];

const [ROUNDS, STEPS] = [4, 2];

type Figures = FinetuneFacts & { readonly ms: number; readonly baseMiB: number | undefined };

/** In turns; the first round compiles and warms up. Of the first, hookline's, also what its frozen base takes. */
async function inTurns(contenders: readonly Asked<FinetuneAsk>[], { adapter }: FinetuneTask): Promise<Figures[]> {
  const times = contenders.map((): number[] => []);
  for (let round = 0; round <= ROUNDS; round++)
    for (const [i, contender] of contenders.entries()) {
      const took = (await contender.ask({ steps: STEPS })) as number[];
      if (round > 0) times[i]!.push(...took);
    }
  const figures: Figures[] = [];
  for (const [i, contender] of contenders.entries()) {
    const facts = (await contender.ask({ facts: true })) as FinetuneFacts;
    const baseMiB = adapter && i === 0 ? ((await contender.ask({ base: true })) as number) : undefined;
    figures.push({ ms: median(times[i]!), ...facts, baseMiB });
    await contender.close();
  }
  return figures;
}

export async function run(): Promise<Report> {
  const only = process.argv.find((arg) => arg.startsWith("--only="))?.slice("--only=".length) ?? "";
  const folder = join(tmpdir(), "hookline-bench-135m");
  if (!writeBenchModel(folder))
    throw new Error("transformers and peft write the model: HOOKLINE_PYTHON names a Python that has them.");
  const rows: Report["rows"][number][] = [];
  const aims: Aim[] = [];
  let wholeBase: number | undefined;
  const add = (title: string, { ms, peakRssMiB, engineMiB, compileSeconds, baseMiB }: Figures, base?: string): void => {
    rows.push([title, ms / 1000, peakRssMiB, engineMiB, compileSeconds, baseMiB]);
    if (base === undefined) wholeBase ??= baseMiB;
    else if (wholeBase !== undefined) {
      const measured = baseMiB! / wholeBase;
      aims.push({ what: `base in ${base} ÷ float32`, measured, unit: "×", limit: 0.5, must: true });
    }
    if (compileSeconds !== undefined)
      aims.push({ what: `${title}: compile`, measured: compileSeconds, unit: "s", limit: 1.5, must: true });
  };
  for (const { title, task, time, memory } of PAIRS.filter(({ title }) => title.includes(only))) {
    const peer = await peftProcess(folder, task);
    const [own, theirs] = await inTurns([await finetuneProcess(folder, task), ...(peer ? [peer] : [])], task);
    add(title, own!);
    if (!theirs) continue;
    add(`${title}, PyTorch`, theirs);
    aims.push({ what: `${title}: time ÷ PyTorch`, measured: own!.ms / theirs.ms, unit: "×", limit: time, must: true });
    const measured = own!.peakRssMiB / theirs.peakRssMiB;
    if (memory !== undefined)
      aims.push({ what: `${title}: peak memory ÷ PyTorch`, measured, unit: "×", limit: memory, must: true });
  }
  for (const { title, task } of ALONE.filter(({ title }) => title.includes(only))) {
    const [own] = await inTurns([await finetuneProcess(folder, task)], task);
    add(title, own!, task.base);
  }
  return {
    name: "finetune",
    title: "Fine-tuning SmolLM2-135M's shape beside PyTorch and PEFT, native, two threads",
    columns: ["s a step", "peak RSS MiB", "engine MiB", "compile s", "base MiB"],
    rows,
    aims,
  };
}
