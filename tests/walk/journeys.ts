// Real runs on the tiny model, and the stretch of each that the map shows.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { logger, type Hook } from "hookline";
import { buildExperiment, readConfig } from "hookline/config";
import { DataLoader } from "hookline/data";
import { tinyData, tinyTrainer } from "hookline/testing";
import { random, Study, uniform } from "hookline/tune";
import type { Coverage, Visited } from "./coverage.ts";

export interface Journey {
  readonly name: string;
  /** The most files that it may pass through; undefined where there is no such promise. */
  readonly budget?: number;
  walk(coverage: Coverage): Promise<Visited[]>;
}

/** A step late in the run: programs are compiled, caches are warm. */
const STEP = 12;

/** From one batch to the next: a step, and the boundary after it. Watched by the loader, so that no hook is on the way. */
async function betweenBatches(coverage: Coverage, hooks: readonly Hook[] = []): Promise<Visited[]> {
  let visited: Visited[] = [];
  let batches = 0;
  class Watched extends DataLoader {
    override next(): ReturnType<DataLoader["next"]> {
      batches++;
      if (batches === STEP + 1) visited = coverage.end();
      if (batches === STEP) coverage.begin();
      return super.next();
    }
  }
  const train = new Watched(tinyData(128), { batchSize: 4 });
  await using trainer = tinyTrainer({ train, steps: 20, hooks });
  await trainer.fit();
  return visited;
}

async function record(
  hooks: (done: (visited: Visited[]) => void) => Hook[],
  options: {
    readonly runDir?: string;
    readonly resume?: string;
    readonly save?: "sync";
    readonly logEvery?: number;
  } = {},
): Promise<Visited[]> {
  let visited: Visited[] = [];
  const { resume, ...rest } = options;
  await using trainer = tinyTrainer({ ...rest, samples: 128, steps: 20, hooks: hooks((it) => (visited = it)) });
  await trainer.fit({ resume });
  return visited;
}

async function inDirectory<T>(body: (dir: string) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), "walk-"));
  try {
    return await body(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

export const JOURNEYS: readonly Journey[] = [
  { name: "a fused step", budget: 20, walk: (coverage) => betweenBatches(coverage) },
  {
    name: "a split step",
    walk: (coverage) => betweenBatches(coverage, [{ name: "looks at gradients", onAfterBackward() {} }]),
  },
  {
    name: "a read of ctx.loss",
    budget: 3,
    walk: (coverage) =>
      record((done) => [
        {
          name: "walk",
          onStepEnd(ctx) {
            if (ctx.step !== STEP) return;
            coverage.begin();
            void ctx.loss;
            done(coverage.end());
          },
        },
      ]),
  },
  {
    name: "a save",
    budget: 25,
    walk: (coverage) =>
      inDirectory((runDir) =>
        record(
          (done) => [
            {
              name: "walk",
              onStepEnd(ctx) {
                // The first save opens the store.
                if (ctx.step !== 1 && ctx.step !== STEP) return;
                ctx.requestSave("interval");
                coverage.begin();
              },
              onAfterSave: () => done(coverage.end()),
            },
          ],
          { runDir, save: "sync" },
        ),
      ),
  },
  {
    name: "a resume",
    walk: (coverage) =>
      inDirectory(async (runDir) => {
        await record(() => [{ name: "saves", onEpochEnd: (ctx) => ctx.requestSave("interval") }], { runDir });
        return record(
          (done) => [{ name: "walk", onBeforeLoad: () => coverage.begin(), onAfterLoad: () => done(coverage.end()) }],
          { runDir, resume: "auto" },
        );
      }),
  },
  {
    name: "a logged scalar",
    budget: 8,
    walk: (coverage) =>
      inDirectory((runDir) =>
        record(
          (done) => [
            { name: "before", stage: "monitor", onLog: () => coverage.begin() },
            logger("jsonl"),
            { name: "after", stage: "progress", onLog: () => done(coverage.end()) },
          ],
          { runDir },
        ),
      ),
  },
  {
    name: "a config",
    walk: (coverage) =>
      inDirectory(async (dir) => {
        const file = join(dir, "hookline.yaml");
        writeFileSync(join(dir, "rows.csv"), "x,y\n1,2\n2,4\n3,6\n4,8\n");
        writeFileSync(file, CONFIG);
        coverage.begin();
        await buildExperiment(await readConfig(file));
        return coverage.end();
      }),
  },
  {
    name: "a trial",
    walk: async (coverage) => {
      const trial = (at: { params: { x: number }; report(values: Record<string, number>, step: number): unknown }) =>
        void at.report({ "val/loss": at.params.x }, 1);
      const space = { x: uniform(0, 1) };
      const study = new Study({ space, sampler: random(space), trials: 1, trial });
      coverage.begin();
      await study.run();
      return coverage.end();
    },
  },
];

const CONFIG = `name: line
data: { use: csv, file: rows.csv, columns: { x: float32, y: float32 } }
split: { use: holdout, val: 0.25, test: 0.25 }
model: { use: linear, in: 1, out: 1 }
loss: mse
optimizer: { use: sgd, lr: 0.1 }
epochs: 1
`;
