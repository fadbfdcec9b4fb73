// Listing a thousand runs: the processor time of `listRuns`, on logs of which only the end is read.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listRuns } from "hookline/runs";
import { headerLine, recordLine } from "../src/runs/log-lines.ts";
import type { Report } from "./lib/report.ts";
import { median } from "./lib/stats.ts";

const RUNS = 1000;
const RECORDS = 5000;
const ROUNDS = 5;

/** As the latest version leaves a run, or as an older one does: without `best` in run.json. */
type Kind = "with best" | "older version";

function writeRuns(root: string, kind: Kind): void {
  const lines = Array.from({ length: RECORDS }, (_, i) => {
    const scalars = { loss: Math.cos(i) + 2, "val/loss": Math.sin(i) + 2, lr: 1e-3 };
    return recordLine({ step: i + 1, epoch: i >> 10, time: 1e12 + i, elapsed: i / 1000, scalars, media: {} });
  });
  const log = headerLine("metrics", { id: "bench", startedAt: 1e12 }) + lines.join("");
  const ended = { status: "completed", reason: "done", step: RECORDS, elapsed: 5, metrics: { loss: 2, "val/loss": 2 } };
  const best = { loss: { value: 1, step: 3 }, "val/loss": { value: 1, step: 11 } };
  const info = { schema: "hookline.run", version: 1, startedAt: 1e12, totalSteps: RECORDS, about: {}, ...ended };
  for (let i = 0; i < RUNS; i++) {
    const dir = join(root, `run-${i}`);
    mkdirSync(join(dir, "checkpoints"), { recursive: true });
    writeFileSync(join(dir, "run.json"), JSON.stringify(kind === "with best" ? { ...info, best } : info));
    writeFileSync(join(dir, "metrics.jsonl"), log);
  }
}

/** Processor seconds, the median of some rounds. */
async function measure(root: string): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const begun = process.cpuUsage();
    const found = await listRuns(root);
    const { user, system } = process.cpuUsage(begun);
    times.push((user + system) / 1e6);
    if (found.length !== RUNS) throw new Error(`${found.length} of ${RUNS} runs were found`);
  }
  return median(times);
}

export async function run(): Promise<Report> {
  const root = mkdtempSync(join(tmpdir(), "hookline-bench-"));
  try {
    const seconds: Record<string, number> = {};
    for (const kind of ["with best", "older version"] as const) {
      writeRuns(root, kind);
      seconds[kind] = await measure(root);
    }
    return {
      name: "runs",
      title: `runs: processor seconds to list ${RUNS} runs of ${RECORDS} records each`,
      columns: ["seconds"],
      rows: Object.entries(seconds),
      aims: [
        { what: "runs of this version, median", measured: seconds["with best"]!, unit: "s", limit: 0.1, must: true },
        {
          what: "runs of older versions, median",
          measured: seconds["older version"]!,
          unit: "s",
          limit: 0.3,
          must: true,
        },
      ],
    };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
