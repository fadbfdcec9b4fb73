// Hostile .pt files: how long the slowest of them takes until it is refused.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { decodePt } from "../src/checkpoint/formats/torch/pt.ts";
import type { Report } from "./lib/report.ts";

const ROUNDS = 5;
const SHOWN = 5;
const script = fileURLToPath(new URL("../tests/hostile/formats-payloads.py", import.meta.url));

function millisecondsOf(bytes: Uint8Array): number {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const begun = performance.now();
    try {
      decodePt(bytes, "f.pt");
    } catch {
      // Most are to be refused; tests/hostile says which, and why.
    }
    best = Math.min(best, performance.now() - begun);
  }
  return best;
}

export function run(): Report {
  const dir = mkdtempSync(join(tmpdir(), "hookline-bench-"));
  try {
    const made = spawnSync("/usr/bin/python3", [script, dir, join(dir, "MARKER")], { encoding: "utf8" });
    if (made.status !== 0) throw new Error(`the files could not be made: ${made.error?.message ?? made.stderr}`);
    const names = Object.keys(JSON.parse(readFileSync(join(dir, "payloads.json"), "utf8")) as object);
    const times = names.map((name): [string, number] => [name, millisecondsOf(readFileSync(join(dir, `${name}.pt`)))]);
    times.sort(([, a], [, b]) => b - a);
    return {
      name: "hostile-files",
      title: `hostile-files: the slowest of ${names.length} hostile .pt files, ms`,
      columns: ["ms"],
      rows: times.slice(0, SHOWN),
      aims: [{ what: "the slowest hostile file", measured: times[0]![1], unit: "ms", limit: 50, must: true }],
    };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
