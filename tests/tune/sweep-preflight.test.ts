// What would make every trial of a sweep fail is found before the first one.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { buildSweep } from "../../src/tune/sweep/build-sweep.ts";
import { preflightSweep } from "../../src/tune/sweep/preflight-sweep.ts";
import { readSweep } from "../../src/tune/sweep/read-sweep.ts";
import { CONFIG as PLAIN, tinyProject, tinySweep } from "../cli/tiny-project.ts";
import { messageOf, projectOf } from "../support/config-files.ts";

// In TypeScript, because it imports hookline: vitest resolves that to the sources.
const CONFIG = PLAIN.replace("./parts.mjs", "./parts.ts");

/** Two inputs to a model of two layers; `reads` counts how often the data was read. */
const PARTS = `import { appendFileSync } from "node:fs";
import { DataLoader } from "hookline/data";
import { linear, relu, sequential } from "hookline/nn";

export function points() {
  appendFileSync(new URL("reads", import.meta.url), "r");
  return { x: { data: new Float32Array(128), shape: [64, 2] }, y: { data: new Float32Array(64), shape: [64, 1] } };
}
export const unreadable = () => { throw new TypeError("the tape is torn"); };
export const network = ({ width, fits }) => sequential(linear(2, width), relu(), linear(fits, 1));
export const loaders = (_, { datasets: { train } }) => {
  const { x, y } = points();
  const wide = { data: new Float32Array(64 * 5), shape: [64, 5] };
  return { train: new DataLoader(train, { batchSize: 8 }), eval: new DataLoader({ x: wide, y }, { batchSize: 8 }) };
};
`;

interface Changes {
  readonly config?: string;
  readonly sweep?: string;
}

async function preflight({ config = CONFIG, sweep = tinySweep("inProcess") }: Changes): Promise<string> {
  const cwd = projectOf({ ...tinyProject(config), "parts.ts": PARTS, "sweep.yaml": sweep });
  const doc = await readSweep("sweep.yaml", { cwd, set: [`dir=${join(cwd, "runs/s")}`], env: {} });
  try {
    await preflightSweep(doc, await buildSweep(doc));
  } finally {
    expect(existsSync(join(cwd, "runs"))).toBe(false);
  }
  return cwd;
}

const refusal = (changes: Changes): Promise<string> => messageOf(preflight(changes));
const readsOf = (cwd: string): number => readFileSync(join(cwd, "reads"), "utf8").length;

describe("found before the first trial", () => {
  test("an eval loader that does not fit the model", async () => {
    const message = await refusal({ config: `${CONFIG}loaders: ./parts.ts#loaders\n`.replace(/loader: .*\n/, "") });
    expect(message).toMatch(
      /sweep\.yaml:2:1: experiment: No trial was started: the experiment fails at all 8 points of its space that were tried\. With \{"optimizer":\{"lr":0\.01\}\}: .*val.*\[8, 5\]/s,
    );
  });

  test("layers that do not fit each other", async () => {
    const model = "model: { use: ./parts.ts#network, width: 8, fits: 7 }";
    expect(await refusal({ config: CONFIG.replace(/model: .*/, model) })).toMatch(
      /No trial was started: .*linear\(7, 1\): .*\[8, 8\]/s,
    );
  });

  test("a misspelt monitor of the experiment, or of a hook of the sweep", async () => {
    const found = "watches `val/los`, but nothing provides that metric. Did you mean `val/loss`?";
    expect(await refusal({ config: CONFIG.replace("monitor: val/loss", "monitor: val/los") })).toContain(found);
    const hooks = "hooks: [{ use: earlyStopping, monitor: val/los }]\n";
    expect(await refusal({ sweep: tinySweep("inProcess") + hooks })).toContain(found);
  });

  test("data that cannot be read, and a split that a sweep cannot use", async () => {
    expect(await refusal({ config: CONFIG.replace("#points", "#unreadable") })).toContain("the tape is torn");
    const folds = CONFIG.replace(/split: .*/, "split: { use: kFold, folds: 2, val: 0.2 }");
    expect(await refusal({ config: folds })).toContain("A sweep trains on one split, but `split` makes folds.");
    const without = CONFIG.replace(/split: .*/, "split: { use: holdout, val: 0 }").replace(/ {2}- .*modelCh.*\n/, "");
    expect(await refusal({ config: without })).toContain("`val/loss` needs data to validate on, and there is none");
  });
});

test("a sound experiment is checked once, and nothing is written", async () => {
  expect(readsOf(await preflight({}))).toBe(1);
});

test("a space in which only some points work is not refused", async () => {
  const config = CONFIG.replace(/model: .*/, "model: { use: ./parts.ts#network, width: 8, fits: 7 }");
  const space = `space:
  model.width: { use: choice, options: [7, 8] }
  model.fits: { use: choice, options: [8, 7] }`;
  // Neither corner works: [7, 8] and [8, 7].
  const cwd = await preflight({ config, sweep: tinySweep("inProcess").replace(/space:\n.*/, space) });
  expect(readsOf(cwd)).toBeGreaterThan(2);
});

test("trials of a queue may have data that the controller lacks", async () => {
  const runner = "{ use: bullmq, redis: redis://localhost:1 }";
  const changes = { config: CONFIG.replace("#points", "#unreadable"), sweep: tinySweep(runner) };
  await expect(preflight(changes)).resolves.toBeDefined();
});
