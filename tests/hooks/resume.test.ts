// Every built-in, interrupted at each boundary of a run: a new trainer with new hooks ends as the uninterrupted one.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Hook, HookState, HostTensors, RunResult, Trainer } from "hookline";
import { memoryStore, type CheckpointStore } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { batchNorm, linear, sequential, tanh } from "hookline/nn";
import { adamw } from "hookline/optim";
import { savedState, tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { noticeServer, type NoticeServer } from "../support/notice-server.ts";
import { oneIn } from "../support/repetitions.ts";
import { BUILT_INS, type Surroundings } from "./built-ins.ts";
import { repeatable, TELLING } from "./telling.ts";

let server: NoticeServer;
let around: Surroundings;

beforeAll(async () => void (server = await noticeServer()));
afterAll(() => server.close());
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), "hookline-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  around = { folder, url: server.url };
});

/** Asks for a checkpoint at every boundary there is. */
const saver: Hook = {
  name: "saver",
  stage: "checkpoint",
  onStepEnd: (ctx) => ctx.requestSave("interval"),
  onEpochEnd: (ctx) => ctx.requestSave("interval", { name: `epoch-${ctx.epoch}` }),
};

interface Ended {
  readonly params: HostTensors;
  readonly state: HookState;
  readonly result: Pick<RunResult, "steps" | "epochs" | "status" | "reason"> & {
    readonly metrics: Record<string, number>;
    readonly history: unknown;
  };
}

/** Three epochs of three steps (the last of one micro-batch) that clip, evaluate and log; with buffers and an optimizer that remembers. */
function make(hooks: Hook[], store: CheckpointStore, options: TinyOptions = {}): Trainer {
  return tinyTrainer({
    model: sequential(linear(3, 4), batchNorm(4), tanh(), linear(4, 1)),
    optimizer: adamw({ lr: 0.05 }),
    samples: 20,
    epochs: 3,
    accumulate: 2,
    clipNorm: 1,
    logEvery: 2,
    eval: new DataLoader(tinyData(8, 2), { batchSize: 4 }),
    store,
    save: "sync",
    maxRollbacks: 100,
    hooks,
    ...options,
  });
}

async function end(trainer: Trainer, hook: Hook, resume?: string): Promise<Ended> {
  const { steps, epochs, status, reason, metrics, history } = await trainer.fit(resume === undefined ? {} : { resume });
  const ended = {
    params: await trainer.stateDict(),
    state: await savedState(hook),
    result: {
      steps,
      epochs,
      status,
      reason,
      metrics: repeatable(metrics),
      history: history.map((entry) => ({ ...entry, metrics: repeatable(entry.metrics) })),
    },
  };
  await trainer.close();
  return ended;
}

const runs = Object.entries(BUILT_INS).flatMap(([name, { make: build, wraps }]) =>
  (TELLING[name] ?? [{}]).map((more) => ({
    title: `${name}(${wraps ? "" : JSON.stringify(more)})`,
    build: (): Hook => build(around, more),
  })),
);

// The hooks take turns over the boundaries; in the soak each is interrupted at all of them.
describe.each(runs.map((run, nth) => ({ ...run, nth })))("$title", ({ build, nth }) => {
  it("ends as the uninterrupted run, wherever it was interrupted", async () => {
    const store = memoryStore();
    const hook = build();
    const whole = await end(make([hook, saver], store), hook);
    // From where a run was stopped, a resumed one goes on: that is what it is for.
    const before = whole.result.status === "stopped" ? whole.result.steps : Infinity;
    const names = (await store.list()).filter(({ step }) => step < before).map(({ name }) => name);
    expect(names.length).toBeGreaterThan(4);
    for (const name of oneIn(3, names, nth)) {
      const fresh = build();
      const ended = await end(make([fresh, saver], await asOf(store, name)), fresh, name);
      expect(ended, `from ${name}`).toEqual(whole);
    }
  });
});

/** The store as an interruption just after this save would have left it. */
async function asOf(store: CheckpointStore, last: string): Promise<CheckpointStore> {
  const copy = memoryStore();
  for (const { name } of await store.list()) {
    const { checkpoint, files } = await store.load({ name });
    await copy.save(name, files, checkpoint);
    if (name === last) break;
  }
  return copy;
}

describe("together with the trainer", () => {
  it("a rollback after a resume from an older checkpoint does not lead ahead", async () => {
    const store = memoryStore();
    await using first = tinyTrainer({ store, save: "sync", steps: 6, hooks: [saver] });
    await first.fit();
    const back: Hook = { name: "back", onStepEnd: (ctx) => void (ctx.step === 3 && ctx.rollback()) };
    const loads: number[] = [];
    const watch: Hook = { name: "watch", onAfterLoad: (ctx) => void loads.push(ctx.loaded.step) };
    await using second = tinyTrainer({ store, save: "sync", steps: 4, hooks: [back, watch] });
    await second.fit({ resume: "step-000002" });
    expect(loads).toEqual([2, 2]);
  });

  it("the length of the run is the same after a resume, whatever a hook has made of `accumulate`", async () => {
    const store = memoryStore();
    const lengths = new Set<number | undefined>();
    const watch: Hook = { name: "watch", onStepEnd: (ctx) => void lengths.add(ctx.totalSteps) };
    const more: Hook = { name: "more", onStepBegin: (ctx) => void (ctx.step === 2 && ctx.setAccumulate(2)) };
    const options = { store, save: "sync", epochs: 3, samples: 32, hooks: [more, watch, saver] } as const;
    await using whole = tinyTrainer(options);
    await whole.fit();
    await using resumed = tinyTrainer(options);
    await resumed.fit({ resume: "step-000003" });
    expect([...lengths]).toEqual([24]);
  });
});
