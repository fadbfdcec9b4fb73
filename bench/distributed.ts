// Two processes with one thread each beside one, at the same global batch, in turns; and PyTorch's DistributedDataParallel
// over gloo in the same way, where there is a PyTorch.
import { execFile } from "node:child_process";
import { createServer, type AddressInfo } from "node:net";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { compiledProgram } from "./lib/compiled.ts";
import { RANK_MODELS, type RankModel } from "./lib/engine-models.ts";
import type { RankTimes } from "./lib/rank-process.ts";
import type { Report } from "./lib/report.ts";
import { median } from "./lib/stats.ts";

const ROUNDS = 5;
/** The first steps compile and warm up. */
const WARM_UP = 8;
const MODELS = Object.keys(RANK_MODELS) as RankModel[];
const PYTHON = process.env.HOOKLINE_PYTHON ?? "/usr/bin/python3";

const execute = promisify(execFile);
const beside = (name: string): string => fileURLToPath(new URL(`./lib/${name}`, import.meta.url));

/** The last line that the main rank prints. */
async function underMpirun<T>(ranks: number, program: readonly string[]): Promise<T> {
  const root = { OMPI_ALLOW_RUN_AS_ROOT: "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1" };
  const { stdout } = await execute("mpirun", ["-n", String(ranks), "--bind-to", "core", ...program], {
    env: { ...process.env, ...root, OMP_NUM_THREADS: "1" },
  });
  return JSON.parse(stdout.trim().split("\n").at(-1)!) as T;
}

const ours = (model: RankModel, ranks: number): Promise<RankTimes> => {
  const steps = String(RANK_MODELS[model].steps + WARM_UP);
  return underMpirun(ranks, [process.execPath, compiledProgram("rank-process"), model, steps]);
};

async function torchs(model: RankModel, ranks: number): Promise<readonly number[]> {
  const steps = String(RANK_MODELS[model].steps + WARM_UP);
  const program = [PYTHON, "-W", "ignore", beside("torch-ranks.py"), model, steps, String(await freePort())];
  return (await underMpirun<{ times: readonly number[] }>(ranks, program)).times;
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

const works = (program: string, ...args: string[]): Promise<boolean> =>
  execute(program, args).then(
    () => true,
    () => false,
  );

/** Milliseconds of the steps that count, of all rounds. */
interface Samples {
  readonly one: number[];
  readonly two: number[];
  readonly communication: number[];
  readonly torchOne: number[];
  readonly torchTwo: number[];
}

async function race(model: RankModel, hasTorch: boolean): Promise<Samples> {
  const samples: Samples = { one: [], two: [], communication: [], torchOne: [], torchTwo: [] };
  const keep = (into: number[], times: readonly number[]): void => void into.push(...times.slice(WARM_UP));
  for (let round = 0; round < ROUNDS; round++) {
    keep(samples.one, (await ours(model, 1)).times);
    const two = await ours(model, 2);
    keep(samples.two, two.times);
    keep(samples.communication, two.communication);
    if (!hasTorch) continue;
    keep(samples.torchOne, await torchs(model, 1));
    keep(samples.torchTwo, await torchs(model, 2));
  }
  return samples;
}

export async function run(): Promise<Report> {
  if (!(await works("mpirun", "--version")))
    throw new Error("distributed needs mpirun: apt-get install openmpi-bin libopenmpi3");
  if (availableParallelism() < 2) throw new Error("distributed needs two cores");
  const hasTorch = await works(PYTHON, "-c", "import torch.distributed as d; assert d.is_available()");
  if (!hasTorch)
    console.error("PyTorch is not here (HOOKLINE_PYTHON names a Python that has it): its columns stay empty.");
  const rows: Report["rows"][number][] = [];
  const aims: Report["aims"][number][] = [];
  for (const model of MODELS) {
    const { title } = RANK_MODELS[model];
    const { one, two, communication, torchOne, torchTwo } = await race(model, hasTorch);
    const speedup = median(one) / median(two);
    const share = (100 * median(communication)) / median(two);
    const torch = hasTorch ? [median(torchOne), median(torchTwo), median(torchOne) / median(torchTwo)] : [];
    rows.push([title, median(one), median(two), speedup, share, ...torch]);
    aims.push({ what: `${model}: 2 processes ÷ 1`, measured: speedup, unit: "×", limit: 1.8, atLeast: true });
    const beyond = hasTorch ? speedup - median(torchOne) / median(torchTwo) : undefined;
    const what = `${model}: 2 processes ÷ 1, more than DistributedDataParallel's`;
    aims.push({ what, measured: beyond, unit: "×", limit: -0.05, atLeast: true, must: true });
  }
  return {
    name: "distributed",
    title: "distributed: ms a step at the same global batch, one thread a process, and the share spent in reductions",
    columns: ["1", "2", "1 ÷ 2", "reductions %", "PyTorch 1", "PyTorch DDP 2", "1 ÷ 2"],
    rows,
    aims,
  };
}
