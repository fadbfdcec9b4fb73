// Language models beside transformers on the same cores, taking turns: SmolLM2-135M's shape with random weights.
import { availableParallelism } from "node:os";
import { lmProcess, transformersProcess, type LmTask } from "./lib/asked-process.ts";
import type { Aim, Report } from "./lib/report.ts";
import { median } from "./lib/stats.ts";

/** A row of the table: both sides do `task`, and answer with the milliseconds of each token. */
interface Row {
  readonly title: string;
  readonly task: LmTask;
  readonly rounds: number;
  /** The most that hookline's time may be of transformers'. */
  readonly limit: number;
}

const ROWS: readonly Row[] = [
  { title: "generate 64 tokens", task: { generate: 64, prompt: 32 }, rounds: 7, limit: 1 / 0.9 },
];

export async function run(): Promise<Report> {
  const [own, transformers] = [await lmProcess(), await transformersProcess()];
  if (!transformers)
    console.error("transformers is not here (HOOKLINE_PYTHON names a Python that has it): its column stays empty.");
  const rows: Report["rows"][number][] = [];
  const aims: Aim[] = [];
  try {
    for (const { title, task, rounds, limit } of ROWS) {
      // transformers with whatever number of threads is best for it: on a busy machine, one.
      const threads = [...new Set([1, availableParallelism()])];
      const contenders = [
        { asked: own, task, took: [] as number[] },
        ...threads.flatMap((count) =>
          transformers ? [{ asked: transformers, task: { ...task, threads: count }, took: [] as number[] }] : [],
        ),
      ];
      // The first round compiles and warms up.
      for (let round = 0; round <= rounds; round++)
        for (const { asked, task: each, took } of contenders) {
          const ms = (await asked.ask(each)) as number;
          if (round > 0) took.push(ms);
        }
      const [ours, ...others] = contenders.map(({ took }) => median(took));
      const theirs = others.length > 0 ? Math.min(...others) : undefined;
      rows.push([title, ours, theirs]);
      const measured = theirs && ours! / theirs;
      aims.push({ what: `${title}: hookline ÷ transformers`, measured, unit: "×", limit, must: true });
    }
    aims.push(await worthOfCache(own));
  } finally {
    for (const asked of [own, transformers]) await asked?.close();
  }
  const title = "SmolLM2-135M's shape on the CPU, milliseconds a token";
  return { name: "lm", title, columns: ["hookline", "transformers"], rows, aims };
}

/** Without a cache, each token is computed from the whole text again. */
async function worthOfCache(own: Awaited<ReturnType<typeof lmProcess>>): Promise<Aim> {
  const ratios: number[] = [];
  for (let round = 0; round <= 2; round++) {
    const uncached = (await own.ask({ whole: 256 })) as number;
    const cached = (await own.ask({ generate: 224, prompt: 32 })) as number;
    if (round > 0) ratios.push(uncached / cached);
  }
  const what = "a token of a text of 256 without a cache ÷ with it";
  return { what, measured: median(ratios), unit: "×", limit: 10, atLeast: true, must: true };
}
