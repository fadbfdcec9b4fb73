// Reading a run's metrics back: a curve of a million points, out of metrics.jsonl and into typed arrays.
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readRun } from "hookline/runs";
import { headerLine, recordLine } from "../src/runs/log-lines.ts";
import type { Report } from "./lib/report.ts";
import { median } from "./lib/stats.ts";

const RECORDS = 1_000_000;
const ROUNDS = 5;

function writeRecords(file: string): void {
  const lines = Array.from({ length: RECORDS }, (_, i) => {
    const scalars = { "train/loss": Math.sin(i) / 3 };
    return recordLine({ step: i + 1, epoch: i >> 10, time: 1e12 + i, elapsed: i / 1000, scalars, media: {} });
  });
  writeFileSync(file, headerLine("metrics", { id: "bench", startedAt: 1e12 }) + lines.join(""));
}

export async function run(): Promise<Report> {
  const dir = mkdtempSync(join(tmpdir(), "hookline-bench-"));
  const file = join(dir, "metrics.jsonl");
  try {
    writeRecords(file);
    const megabytes = statSync(file).size / 1e6;
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const begun = performance.now();
      const { values } = (await readRun(dir)).get("train/loss");
      times.push((performance.now() - begun) / 1000);
      if (values.length !== RECORDS) throw new Error(`${values.length} of ${RECORDS} points came back`);
    }
    return {
      name: "read-run",
      title: `read-run: seconds until ${RECORDS} points of metrics.jsonl are typed arrays`,
      columns: ["MB", "seconds", "MB/s"],
      rows: [["train/loss", megabytes, median(times), megabytes / median(times)]],
      aims: [{ what: "a million points, median", measured: median(times), unit: "s", limit: 1, must: true }],
    };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
