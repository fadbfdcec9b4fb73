// How training steps scale with cores: the native engine and PyTorch, each pinned to 1, 2, 4 and 8 cores with as many
// threads, taking turns. A machine with fewer cores measures fewer.
import { availableParallelism } from "node:os";
import { engineProcess, torchEngines, type Asked } from "./lib/asked-process.ts";
import { ENGINE_MODELS, type EngineModel } from "./lib/engine-models.ts";
import type { Aim, Report } from "./lib/report.ts";
import { median } from "./lib/stats.ts";

const ROUNDS = 6;
/** The first round compiles and warms up. */
const WARM_UP = 1;
/** Milliseconds of steps that a turn takes at least. */
const TURN = 400;
const MODELS: readonly EngineModel[] = ["mlp", "gpt", "gptLarge", "cnn", "resnet"];

interface Pair {
  readonly cores: number;
  readonly native: Asked;
  readonly torch: Asked | undefined;
}

export async function run(): Promise<Report> {
  const rows: Report["rows"][number][] = [];
  const aims: Aim[] = [];
  const counts = [1, 2, 4, 8].filter((cores) => cores <= availableParallelism());
  for (const model of MODELS) {
    const times: { native: number; torch: number | undefined }[] = [];
    for (const cores of counts) {
      const pair = { cores, native: await engineProcess("native", cores), torch: await torchEngines(cores) };
      times.push(await measured(pair, model));
      await pair.native.close();
      await pair.torch?.close();
    }
    const { title } = ENGINE_MODELS[model];
    rows.push([`${title}, native`, ...times.map(({ native }) => native)]);
    rows.push([`${title}, PyTorch`, ...times.map(({ torch }) => torch)]);
    for (const [i, { native, torch }] of times.entries()) {
      if (i === 0) continue;
      const [ours, theirs] = [times[0]!.native / native, torch && times[0]!.torch! / torch];
      aims.push({
        what: `${model}: speed-up by ${counts[i]} cores, native ÷ PyTorch`,
        measured: theirs && ours / theirs,
        unit: "×",
        limit: 1,
        atLeast: true,
        must: true,
      });
      aims.push({
        what: `${model} on ${counts[i]} cores: native ÷ PyTorch`,
        measured: torch && native / torch,
        unit: "×",
        limit: 1,
      });
    }
  }
  return {
    name: "scaling",
    title: "ms a training step, median, pinned to so many cores",
    columns: counts.map((cores) => `${cores} ${cores === 1 ? "core" : "cores"}`),
    rows,
    aims,
  };
}

async function measured(
  { cores, native, torch }: Pair,
  model: EngineModel,
): Promise<{ native: number; torch: number | undefined }> {
  const times = { native: [] as number[], torch: [] as number[] };
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    for (const [name, asked] of [
      ["native", native],
      ["torch", torch],
    ] as const) {
      if (!asked) continue;
      const took = await turn(asked, model, cores);
      if (round >= 0) times[name].push(...took);
    }
  }
  return { native: median(times.native), torch: torch && median(times.torch) };
}

async function turn(asked: Asked, model: EngineModel, threads: number): Promise<number[]> {
  const took: number[] = [];
  const begun = performance.now();
  while (performance.now() - begun < TURN) {
    took.push(...((await asked.ask({ model, steps: ENGINE_MODELS[model].steps, threads })) as number[]));
  }
  return took;
}
