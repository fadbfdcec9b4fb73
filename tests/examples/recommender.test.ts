// The whole experiment of examples/recommender from its config, made short: fewer films, a few epochs.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CHECKED, exporting, numberIn } from "./run-example.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const dir = mkdtempSync(join(tmpdir(), "recommender-"));
const runDir = join(dir, "run");
afterAll(() => rmSync(dir, { recursive: true, force: true }));

let output = "";
beforeAll(async () => {
  const changes = [
    "hooks.0.kCore=30",
    "hooks.0.recommendTo=[15, 4]",
    "hooks.ema.decay=0.9",
    "models.bpr.epochs=8",
    "models.bpr.optimizer.lr=0.01",
    "models.two-tower.epochs=3",
  ];
  const args = [...CHECKED, "src/cli/main.ts", "train", "examples/recommender/hookline.yaml", "--run-dir", runDir];
  const { stdout, stderr, status } = await exporting((env) =>
    spawnSync(process.execPath, [...args, ...changes.flatMap((set) => ["--set", set])], {
      cwd: root,
      encoding: "utf8",
      env,
    }),
  );
  if (status !== 0) throw new Error(`ended with code ${status}:\n${stdout}${stderr}`);
  output = stdout;
});

it("does something to be seen at each of the four points of the pipeline", () => {
  expect(output).toContain("data: 100004 interactions of 671 users with 9066 items\n30-core: ");
  expect(output).toMatch(/train \d+, validation \d+, test \d+ interactions/);
  for (const model of ["bpr", "two-tower"]) {
    const list = readFileSync(join(runDir, model, "recommendations.txt"), "utf8");
    expect(output).toContain(`${model} recommends to ${list.split("\n\n")[0]}`);
    expect(list.match(/^user (15|4)$/gm)).toHaveLength(2);
    const films = list.match(/https:\/\/movielens\.org\/movies\/\d+/g)!;
    expect(films).toHaveLength(20);
    expect(new Set(films.slice(0, 10)).size).toBe(10);
  }
  expect(output).toMatch(/popularity .*\nitem-kNN .*\nbpr .*\ntwo-tower /);
});

it("beats popularity on a ranking of all films, and says so in its results", () => {
  const ndcg = (name: string): number =>
    numberIn(output.slice(output.lastIndexOf("popularity  ")), new RegExp(`^${name} +([\\d.]+)`, "m"));
  expect(ndcg("two-tower")).toBeGreaterThan(2 * ndcg("popularity"));
  expect(ndcg("bpr")).toBeGreaterThan(1.2 * ndcg("popularity"));
  const { models } = JSON.parse(readFileSync(join(runDir, "results.json"), "utf8")) as {
    models: Record<string, { results: Record<string, number> }>;
  };
  expect(models["two-tower"]!.results["test/ndcg@10"]).toBeCloseTo(ndcg("two-tower"), 4);
  expect(models["two-tower"]!.results["popularity/ndcg@10"]).toBeCloseTo(ndcg("popularity"), 4);
});
