// The same models on jax-js wasm, on the native engine and in PyTorch, taking turns: milliseconds a training step, where
// the native ones go, and what memory they take. With --long the check of its memory is of 100,000 steps.
import { availableParallelism } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import type { ProfiledStep } from "../src/engines/native/profile.ts";
import { engineProcess, torchEngines, type Asked } from "./lib/asked-process.ts";
import { ENGINE_MODELS, type EngineModel } from "./lib/engine-models.ts";
import type { Report } from "./lib/report.ts";
import { median, p10 } from "./lib/stats.ts";

const ROUNDS = 12;
/** The first rounds compile and warm up. */
const WARM_UP = 2;
/** PyTorch's threads look for more work for up to 10 ms after a step, on cores that the next contender wants. */
const BETWEEN_TURNS_MS = 30;
const MIB = 2 ** 20;
const MODELS = Object.keys(ENGINE_MODELS) as EngineModel[];
/** Models of convolutions, which may take more of PyTorch's time than products. */
const CONVOLVES: ReadonlySet<EngineModel> = new Set(["cnn", "resnet"]);

/** One column of the table. */
interface Contender {
  readonly name: "wasm" | "native" | "torch";
  readonly threads: number;
  readonly asked: Asked;
}

export async function run(): Promise<Report[]> {
  const [wasm, native, torch] = [await engineProcess("wasm"), await engineProcess("native"), await torchEngines()];
  if (!torch)
    console.error("PyTorch is not here (HOOKLINE_PYTHON names a Python that has it): its column stays empty.");
  try {
    const contenders: Contender[] = [
      { name: "wasm", threads: 1, asked: wasm },
      { name: "native", threads: availableParallelism(), asked: native },
      ...(torch ? threadCounts().map((threads) => ({ name: "torch" as const, threads, asked: torch })) : []),
    ];
    const speed = await compareSpeed(contenders);
    const shares: Report[] = [];
    for (const model of ["mlp", "gpt", "cnn", "resnet"] as const) shares.push(await shareOfTime(native, model));
    const memory: Report[] = [];
    for (const model of ["gptLarge", "resnet"] as const) memory.push(await compareMemory(model, torch !== undefined));
    return [speed, ...shares, ...memory, await memoryOverTime()];
  } finally {
    for (const asked of [wasm, native, torch]) await asked?.close();
  }
}

/** 1, 2, 4, … and as many as there are cores. */
function threadCounts(): number[] {
  const cores = availableParallelism();
  const powers = Array.from({ length: Math.ceil(Math.log2(cores)) }, (_, i) => 2 ** i);
  return [...powers, cores];
}

async function compareSpeed(contenders: readonly Contender[]): Promise<Report> {
  const rows: Report["rows"][number][] = [];
  const aims: Report["aims"][number][] = [];
  for (const model of MODELS) {
    const { title, steps } = ENGINE_MODELS[model];
    const times = contenders.map((): number[] => []);
    for (let round = -WARM_UP; round < ROUNDS; round++) {
      for (const [i, { asked, threads, name }] of contenders.entries()) {
        // It is slow, and its times vary little.
        if (name === "wasm" && round >= 0 && round % 3 !== 0) continue;
        const count = name === "wasm" ? 1 : steps;
        await wait(BETWEEN_TURNS_MS);
        const took = (await asked.ask({ model, steps: count, threads })) as number[];
        if (round >= 0) times[i]!.push(...took);
      }
    }
    const of = (name: Contender["name"]) => {
      const all = contenders.flatMap((contender, i) => (contender.name === name ? [times[i]!] : []));
      // PyTorch with whatever number of threads is best for it.
      return all.sort((a, b) => median(a) - median(b))[0];
    };
    const [wasm, native, torch] = [of("wasm")!, of("native")!, of("torch")];
    rows.push([title, median(wasm), median(native), torch && median(torch), p10(native), torch && p10(torch)]);
    aims.push({
      what: `${model}: wasm ÷ native`,
      measured: median(wasm) / median(native),
      unit: "×",
      limit: 6,
      atLeast: true,
    });
    const ratio = { measured: torch && median(native) / median(torch), unit: "×" };
    aims.push({ what: `${model}: native ÷ PyTorch`, ...ratio, limit: CONVOLVES.has(model) ? 1.5 : 1.25, must: true });
    aims.push({ what: `${model}: native ÷ PyTorch`, ...ratio, limit: 1 });
  }
  return {
    name: "engines",
    title: "engines: ms a training step, median (p10: the quiet tenth)",
    columns: ["wasm", "native", "PyTorch", "native p10", "PyTorch p10"],
    rows,
    aims,
  };
}

async function shareOfTime(native: Asked, model: EngineModel): Promise<Report> {
  const steps = 10 * ENGINE_MODELS[model].steps;
  const before = new Map(((await native.ask({ profile: model, steps: 1 })) as ProfiledStep[]).map((s) => [s.label, s]));
  const after = (await native.ask({ profile: model, steps })) as ProfiledStep[];
  const spent = after
    .map(({ label, total }) => ({ label, ms: (total - (before.get(label)?.total ?? 0)) / steps }))
    .filter(({ ms }) => ms > 0)
    .sort((a, b) => b.ms - a.ms);
  const sum = (list: readonly { ms: number }[]): number => list.reduce((total, { ms }) => total + ms, 0);
  const all = sum(spent);
  const row = (label: string, ms: number) => [label, ms, (100 * ms) / all] as const;
  const products = spent.filter(({ label }) => /^(product|slide|correlate)/.test(label));
  return {
    name: `engines, ${model} on native`,
    title: `where a step of ${ENGINE_MODELS[model].title} is spent on native`,
    columns: ["ms", "%"],
    rows: [
      row("all products and convolutions", sum(products)),
      row("everything else", all - sum(products)),
      ...spent.slice(0, 10).map(({ label, ms }) => row(label.slice(0, 70), ms)),
    ],
    aims: [],
  };
}

/** Of processes that have done nothing but this. */
async function compareMemory(model: EngineModel, hasTorch: boolean): Promise<Report> {
  const peak = async (asked: Asked): Promise<number> => {
    await asked.ask({ model, steps: 5, threads: availableParallelism() });
    const bytes = (await asked.ask({ peak: true })) as number;
    await asked.close();
    return bytes / MIB;
  };
  const wasm = await peak(await engineProcess("wasm"));
  const native = await peak(await engineProcess("native"));
  const torch = hasTorch ? await peak((await torchEngines())!) : undefined;
  return {
    name: `engines, memory of ${model}`,
    title: "the most memory that a process had, MiB",
    columns: ["wasm", "native", "PyTorch"],
    rows: [[ENGINE_MODELS[model].title, wasm, native, torch]],
    aims: [
      { what: "native ÷ wasm", measured: native / wasm, unit: "×", limit: 1 },
      {
        what: "native ÷ PyTorch",
        measured: torch && native / torch,
        unit: "×",
        limit: 0.7,
        must: true,
        cause:
          "before the first step a process has 73 MiB; V8's heap grows by 30 to 50 while a step is traced and compiled",
      },
    ],
  };
}

/** A leak of one small object a step shows over many of them. */
async function memoryOverTime(): Promise<Report> {
  const steps = process.argv.includes("--long") ? 100_000 : 4000;
  const asked = await engineProcess("native");
  const resident = async (): Promise<number> => ((await asked.ask({ resident: true })) as number) / MIB;
  await asked.ask({ model: "mlp", steps: steps / 4 });
  const early = await resident();
  await asked.ask({ model: "mlp", steps: steps / 4 });
  const halfway = await resident();
  await asked.ask({ model: "mlp", steps: steps / 2 });
  const late = await resident();
  await asked.close();
  return {
    name: "engines, memory over time",
    title: `memory of a process that trains the MLP on native, MiB`,
    columns: ["early", "halfway", "at the end"],
    rows: [[`${steps} steps`, early, halfway, late]],
    aims: [{ what: "growth in the second half", measured: late - halfway, unit: "MiB", limit: 16, must: true }],
  };
}
