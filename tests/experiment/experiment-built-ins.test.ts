// Every built-in hook in two trainings one after the other: the second is as if it were alone.
import { join } from "node:path";
import type { Hook, HookState, HostTensors, RunResult } from "hookline";
import { holdout } from "hookline/experiment";
import { batchNorm, linear, sequential, tanh } from "hookline/nn";
import { adamw, plateau } from "hookline/optim";
import { savedState, tinyData } from "hookline/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BUILT_INS } from "../hooks/built-ins.ts";
import { repeatable, TELLING } from "../hooks/telling.ts";
import { noticeServer, type NoticeServer } from "../support/notice-server.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyExperiment } from "../support/tiny-experiment.ts";

let server: NoticeServer;
beforeAll(async () => void (server = await noticeServer()));
afterAll(() => server.close());

interface Trained {
  readonly params: HostTensors;
  readonly state: unknown;
  readonly result: Pick<RunResult, "steps" | "status" | "reason" | "metrics" | "interventions">;
  readonly history: unknown;
}

/** What the last of these models has come to. They are all the same, but for their seed. */
async function last(seeds: readonly number[], build: (folder: string) => Hook, saves: boolean): Promise<Trained> {
  const folder = tempDir();
  const hook = build(folder);
  let trained: Trained | undefined;
  const keep: Hook = {
    name: "keep",
    async onTrainingComplete(ctx) {
      const { steps, status, reason, metrics, interventions, history } = ctx.result;
      trained = {
        params: await ctx.trained.stateDict(),
        // A logger's run has a name of its own, and a checkpoint a place.
        state: hook.name === "logger" ? undefined : withoutPaths(await savedState(hook), folder),
        result: { steps, status, reason, metrics: repeatable(metrics), interventions },
        history: history.map((entry) => ({ ...entry, metrics: repeatable(entry.metrics) })),
      };
    },
  };
  const saver: Hook = { name: "saver", stage: "checkpoint", onStepEnd: (ctx) => ctx.requestSave("interval") };
  const result = await tinyExperiment({
    data: () => tinyData(28),
    split: holdout({ val: 0.3, test: 0 }),
    model: sequential(linear(3, 4), batchNorm(4), tanh(), linear(4, 1)),
    optimizer: adamw({ lr: 0.05 }),
    schedule: plateau({ patience: 0, factor: 0.5, threshold: 1e9 }),
    epochs: 3,
    accumulate: 2,
    clipNorm: 1,
    logEvery: 2,
    maxRollbacks: 100,
    ...(saves && { runDir: join(folder, "run"), save: "sync" }),
    models: Object.fromEntries(seeds.map((seed) => [`seed-${seed}`, { seed }])),
    hooks: [hook, keep, ...(saves ? [saver] : [])],
  }).run();
  expect(result.status).toBe("completed");
  return trained!;
}

const withoutPaths = (state: HookState, folder: string): unknown => ({
  ...state,
  ...(state.json !== undefined && { json: JSON.parse(JSON.stringify(state.json).replaceAll(folder, "")) as unknown }),
});

/** These save, or go back to what was saved. */
const SAVING = /modelCheckpoint|s3Upload|"checkpoint"|"rollback"/;

const runs = Object.entries(BUILT_INS).flatMap(([name, { make, wraps }]) =>
  (TELLING[name] ?? [name === "modelCheckpoint" ? { monitor: "val/loss", saveTopK: 2 } : {}]).map((more) => ({
    title: `${name}(${wraps ? "" : JSON.stringify(more)})`,
    build: (folder: string): Hook => make({ folder, url: server.url }, more),
  })),
);

describe.each(runs)("$title", ({ title, build }) => {
  it("begins anew with every training of an experiment", async () => {
    const saves = SAVING.test(title);
    const alone = await last([1], build, saves);
    expect(await last([7, 1], build, saves)).toEqual(alone);
  });
});
