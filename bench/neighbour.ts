// A training step beside another busy process: how much longer it takes on wasm, on the native engine and in PyTorch
// than with the machine to itself. Threads of a step wait for each other, and one of them may have no core.
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { engineProcess, torchEngines, type Asked } from "./lib/asked-process.ts";
import { ENGINE_MODELS, type EngineModel } from "./lib/engine-models.ts";
import type { Report } from "./lib/report.ts";
import { median } from "./lib/stats.ts";

const ROUNDS = 6;
/** The first rounds compile and warm up. */
const WARM_UP = 1;
/** Milliseconds that the neighbour is busy before steps count: whatever adapts to it has done so. */
const SETTLING = 1000;
/** Milliseconds of steps that count in a round. */
const COUNTED = 500;
const MODELS: readonly EngineModel[] = ["mlp", "gpt"];

interface Contender {
  readonly name: string;
  readonly asked: Asked;
}

export async function run(): Promise<Report[]> {
  const torch = await torchEngines();
  if (!torch)
    console.error("PyTorch is not here (HOOKLINE_PYTHON names a Python that has it): its column stays empty.");
  const contenders: Contender[] = [
    { name: "wasm", asked: await engineProcess("wasm") },
    { name: "native", asked: await engineProcess("native") },
    ...(torch ? [{ name: "PyTorch", asked: torch }] : []),
  ];
  const neighbour = spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" });
  try {
    const reports: Report[] = [];
    for (const model of MODELS) {
      reports.push(await compare(model, contenders, (busy) => neighbour.kill(busy ? "SIGCONT" : "SIGSTOP")));
    }
    return reports;
  } finally {
    neighbour.kill("SIGKILL");
    for (const { asked } of contenders) await asked.close();
  }
}

async function compare(
  model: EngineModel,
  contenders: readonly Contender[],
  setBusy: (busy: boolean) => void,
): Promise<Report> {
  const rows: [string, number, number, number][] = [];
  const times = contenders.map(() => ({ alone: [] as number[], beside: [] as number[] }));
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    for (const [i, { asked }] of contenders.entries()) {
      for (const when of ["alone", "beside"] as const) {
        setBusy(when === "beside");
        await takeFor(SETTLING, model, asked);
        const took = await takeFor(COUNTED, model, asked);
        if (round >= 0) times[i]![when].push(...took);
      }
    }
  }
  for (const [i, { name }] of contenders.entries()) {
    const { alone, beside } = times[i]!;
    // The mean, since it is the waits that count.
    rows.push([name, median(alone), mean(beside), mean(beside) / median(alone)]);
  }
  const factor = (name: string): number | undefined => rows.find(([row]) => row === name)?.[3];
  const [native, torch] = [factor("native")!, factor("PyTorch")];
  return {
    name: `neighbour, ${model}`,
    title: `${ENGINE_MODELS[model].title}, beside one other busy process: ms a training step`,
    columns: ["alone, median", "beside it, mean", "factor"],
    rows,
    aims: [
      { what: `${model}: native beside ÷ alone`, measured: native, unit: "×", limit: 2, must: true },
      { what: `${model}: native's factor ÷ PyTorch's`, measured: torch && native / torch, unit: "×", limit: 1 },
    ],
  };
}

const mean = (all: readonly number[]): number => all.reduce((sum, each) => sum + each, 0) / all.length;

/** The milliseconds of as many steps as that time allows. */
async function takeFor(ms: number, model: EngineModel, asked: Asked): Promise<number[]> {
  const all: number[] = [];
  const end = performance.now() + ms;
  do {
    const steps = ENGINE_MODELS[model].steps;
    all.push(...((await asked.ask({ model, steps, threads: availableParallelism() })) as number[]));
  } while (performance.now() < end);
  return all;
}
