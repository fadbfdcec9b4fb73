// How well the recommender of examples/ ranks, from its config, beside its two baselines: three seeds.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Report } from "./lib/report.ts";

const SEEDS = [0, 1, 2];
const METRIC = "ndcg@10";
const beside = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

type Results = Readonly<Record<string, { readonly results: Readonly<Record<string, number>> }>>;

async function train(seed: number): Promise<Results> {
  const dir = mkdtempSync(join(tmpdir(), "hookline-bench-"));
  try {
    const command = [
      "--import",
      "tsx",
      beside("../src/cli/main.ts"),
      "train",
      beside("../examples/recommender/hookline.yaml"),
    ];
    await promisify(execFile)(process.execPath, [...command, "--seed", String(seed), "--run-dir", join(dir, "run")], {
      maxBuffer: 1 << 26,
    });
    return (JSON.parse(readFileSync(join(dir, "run/results.json"), "utf8")) as { models: Results }).models;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

export async function run(): Promise<Report> {
  const bySeed: Results[] = [];
  for (const seed of SEEDS) bySeed.push(await train(seed));
  const of = (model: string, name: string): number[] => bySeed.map((models) => models[model]!.results[name]!);
  const [towers, bpr] = [of("two-tower", `test/${METRIC}`), of("bpr", `test/${METRIC}`)];
  const [popularity, knn] = [of("two-tower", `popularity/${METRIC}`), of("two-tower", `item-kNN/${METRIC}`)];
  const row = (label: string, values: readonly number[]): [string, ...number[]] => [label, ...values, mean(values)];
  const times = (values: readonly number[], others: readonly number[]): number => mean(values) / mean(others);
  return {
    name: "recommender",
    title: "recommender: nDCG@10 on the test part, all films ranked",
    columns: [...SEEDS.map((seed) => `seed ${seed}`), "mean"],
    rows: [row("popularity", popularity), row("item-kNN", knn), row("BPR", bpr), row("two towers", towers)],
    aims: [
      {
        what: "two towers ÷ popularity",
        measured: times(towers, popularity),
        unit: "×",
        limit: 2,
        atLeast: true,
        must: true,
      },
      { what: "two towers ÷ item-kNN", measured: times(towers, knn), unit: "×", limit: 1, atLeast: true },
    ],
  };
}
