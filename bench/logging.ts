// What loggers cost at every step: runs that differ only in their backends, in turn; services that are down half of the
// time; and scalars into TensorBoard files.
import { csv, jsonl, mlflow, tensorboard, wandb } from "hookline/loggers";
import { loggerOf, timedRun, toNowhere, type MakeHooks } from "./lib/logging-runs.ts";
import { serve, services } from "./lib/logging-services.ts";
import { ours, summaryWriter } from "./lib/logging-tensorboard.ts";
import type { Report } from "./lib/report.ts";
import { median, p10 } from "./lib/stats.ts";

const STEPS = 8000;
/** The first steps compile and warm up. */
const WARM_UP = 2000;
const ROUNDS = 8;

const ALL = "console, jsonl, tensorboard";

function contenders(url: string): Readonly<Record<string, MakeHooks>> {
  const remote = { sendEvery: 100, warn: () => undefined };
  return {
    "no logger": () => ({ hooks: [] }),
    "loss read": () => ({ hooks: [{ name: "reader", onStepEnd: (ctx) => void ctx.loss }] }),
    "log, nothing done": () => ({ hooks: [{ name: "listener", onLog: () => undefined }] }),
    "logger, no backend": () => ({ hooks: [loggerOf()] }),
    console() {
      const { backend, close } = toNowhere();
      return { hooks: [loggerOf(backend)], close };
    },
    jsonl: () => ({ hooks: [loggerOf(jsonl())] }),
    csv: () => ({ hooks: [loggerOf(csv())] }),
    tensorboard: () => ({ hooks: [loggerOf(tensorboard())] }),
    [ALL]() {
      const { backend, close } = toNowhere();
      return { hooks: [loggerOf(backend, jsonl(), tensorboard())], close };
    },
    wandb: () => ({ hooks: [loggerOf(wandb({ baseUrl: url, apiKey: "k".repeat(40), ...remote }))] }),
    mlflow: () => ({ hooks: [loggerOf(mlflow({ uri: url, ...remote }))] }),
  };
}

interface Samples {
  /** Of all rounds. */
  readonly steps: number[];
  readonly blocks: number[];
}

async function costs(): Promise<Report> {
  const server = await serve("up");
  const all = contenders(server.url);
  const samples = new Map(Object.keys(all).map((name): [string, Samples] => [name, { steps: [], blocks: [] }]));
  try {
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, make] of Object.entries(all)) {
        const { own, blocks } = await timedRun(make, STEPS, WARM_UP);
        samples.get(name)!.steps.push(...own);
        samples.get(name)!.blocks.push(...blocks);
      }
    }
  } finally {
    await server.close();
  }
  const plain = samples.get("no logger")!;
  const added = (name: string, what: keyof Samples, of: typeof p10): number =>
    of(samples.get(name)![what]) - of(plain[what]);
  return {
    name: "logging",
    title: `logging: µs a step of one layer outside of its program, 5 scalars at every step; added: beyond no logger,
in a step as it is made, and all the time of the thread, with what is put off and the garbage`,
    columns: ["step p10", "added p10", "added median", "all added p10", "all added median"],
    rows: [...samples.keys()].map((name) => [
      name,
      p10(samples.get(name)!.steps),
      added(name, "steps", p10),
      added(name, "steps", median),
      added(name, "blocks", p10),
      added(name, "blocks", median),
    ]),
    aims: [
      { what: `${ALL}, in a step`, measured: added(ALL, "steps", p10), unit: "µs", limit: 5 },
      { what: `${ALL}, all the time`, measured: added(ALL, "blocks", p10), unit: "µs", limit: 5 },
    ],
  };
}

async function throughput(): Promise<Report> {
  const single = await ours(100_000, 1);
  const five = await ours(50_000, 5);
  const many = await ours(5000, 100);
  const theirs = await summaryWriter();
  const rate = (us: number): number => 1 / us;
  const rows = [single, five, many, ...(theirs ? [theirs] : [])];
  return {
    name: "logging-tensorboard",
    title: `TensorBoard files: µs a scalar for the caller and until it is in the file, and millions of scalars a second${
      theirs ? "" : " (no Python with torch and tensorboard was found: HOOKLINE_PYTHON, HOOKLINE_TENSORBOARD_PYTHON)"
    }`,
    columns: ["caller µs", "written µs", "M/s"],
    rows: rows.map(({ label, caller, written }) => [label, caller, written, rate(written)]),
    aims: [
      { what: "5 scalars a record", measured: rate(five.written), unit: "M scalars/s", limit: 1, atLeast: true },
      { what: "1 scalar a record", measured: rate(single.written), unit: "M scalars/s", limit: 1, atLeast: true },
    ],
  };
}

export async function run(): Promise<readonly Report[]> {
  return [await costs(), await services(), await throughput()];
}
