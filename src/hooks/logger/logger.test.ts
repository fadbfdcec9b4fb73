import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { tempDir } from "../../../tests/support/temp-dir.ts";
import { jsonl } from "../../loggers/jsonl.ts";
import { thisProcess } from "../../runs/liveness.ts";
import type { Hook } from "../../core/hook.ts";
import { histogram, text } from "../../core/media.ts";
import { DataLoader } from "../../data/data-loader.ts";
import type { LoggerBackend } from "../../loggers/backend.ts";
import type { LogRecord, RunEnd, RunEvent, RunFacts } from "../../runs/types.ts";
import { testEngine, tinyData, tinyTrainer, type TinyOptions } from "../../testing/index.ts";
import { cosine } from "../../optim/index.ts";
import { sgd } from "../../optim/sgd.ts";
import { logger, type LoggerOptions } from "./logger.ts";
import { modelCheckpoint } from "../model-checkpoint/model-checkpoint.ts";
import { memoryStore } from "../../checkpoint/stores/memory-store.ts";

interface Recorded extends LoggerBackend {
  readonly runs: RunFacts[];
  readonly records: LogRecord[];
  readonly events: RunEvent[];
  readonly ends: RunEnd[];
  readonly calls: string[];
}

function recording(name = "recording", changes: Partial<LoggerBackend> = {}): Recorded {
  const calls: string[] = [];
  const runs: RunFacts[] = [];
  const records: LogRecord[] = [];
  const events: RunEvent[] = [];
  const ends: RunEnd[] = [];
  return {
    name,
    calls,
    runs,
    records,
    events,
    ends,
    open: (run) => void (calls.push("open"), runs.push(run)),
    log: (record) => void (calls.push(`log ${record.step}`), records.push(structuredClone(record))),
    event: (event) => void events.push(event),
    flush: () => void calls.push("flush"),
    close: (end) => void (calls.push("close"), ends.push(end)),
    ...changes,
  };
}

async function run(backend: LoggerBackend | LoggerBackend[], options: LoggerOptions = {}, trainer: TinyOptions = {}) {
  const warnings: string[] = [];
  const { hooks = [], ...rest } = trainer;
  await using it = tinyTrainer({
    logEvery: 2,
    warn: (message) => void warnings.push(message),
    ...rest,
    hooks: [...hooks, logger(backend, options)],
  });
  const result = await it.fit();
  return { result, warnings };
}

const stepsOf = ({ records }: Recorded): number[] => records.map(({ step }) => step);
const evalLoader = (): DataLoader => new DataLoader(tinyData(4), { batchSize: 4 });

describe("what is logged", () => {
  it("goes to every backend, in order, with loss, rate and speed", async () => {
    const [a, b] = [recording("a"), recording("b")];
    await run([a, b], {}, { clipNorm: 1 });
    expect(stepsOf(a)).toEqual([2, 4, 4]);
    expect(b.records).toEqual(a.records);
    expect(Object.keys(a.records[0]!.scalars)).toEqual([
      "loss",
      "gradNorm",
      "lr",
      "perf/stepsPerSec",
      "perf/samplesPerSec",
    ]);
    expect(a.records.at(-1)!.scalars).toHaveProperty("train/loss");
    // A slow machine flushes meanwhile.
    expect(a.calls.filter((call) => !/^(?:log|flush)/.test(call))).toEqual(["open", "close"]);
    expect(a.ends).toMatchObject([{ status: "completed", reason: "1 epoch", step: 4 }]);
  });

  it("lands on the step where a hook logged it, once, whatever the cadence", async () => {
    const backend = recording();
    const reports: Hook = {
      name: "reports",
      onStepEnd: (ctx) => (ctx.step % 3 === 0 ? ctx.log({ third: ctx.step, note: text(`at ${ctx.step}`) }) : undefined),
      onLog: (ctx) => ctx.log({ late: ctx.step }),
    };
    await run(backend, {}, { hooks: [reports], samples: 32, logEvery: 5, eval: evalLoader(), evalEvery: "4 steps" });
    const seen = backend.records.map(({ step, scalars, media }) => [
      step,
      scalars.third,
      scalars["val/loss"] !== undefined,
      media.note,
    ]);
    expect(seen).toEqual([
      [3, 3, false, text("at 3")],
      [4, undefined, true, undefined],
      [5, undefined, false, undefined],
      [6, 6, false, text("at 6")],
      [8, undefined, true, undefined],
      [8, undefined, false, undefined],
    ]);
    // What a hook adds in `log` itself is part of that record.
    expect(backend.records.map(({ scalars }) => scalars.late)).toEqual([3, 4, 5, 6, 8, 8]);
  });

  it("with a cadence of its own it keeps what came in between for the next record", async () => {
    const backend = recording();
    const reports: Hook = { name: "reports", onStepEnd: (ctx) => ctx.log({ [`at ${ctx.step}`]: 1 }) };
    await run(backend, { every: 3 }, { hooks: [reports], samples: 32, logEvery: 1000 });
    expect(stepsOf(backend)).toEqual([3, 6, 8]);
    expect(Object.keys(backend.records[1]!.scalars)).toEqual(expect.arrayContaining(["at 4", "at 5", "at 6"]));
    expect(
      backend.records.flatMap(({ scalars }) => Object.keys(scalars).filter((key) => key.startsWith("at"))),
    ).toHaveLength(8);
  });

  it("with a cadence of its own it writes in just these steps, and other loggers are not concerned", async () => {
    const own = recording();
    const other = recording();
    const logged: number[] = [];
    const plain: Hook = { name: "plain", onLog: (ctx) => void logged.push(ctx.step) };
    const gated: Hook = { name: "gated", every: 35, onLog: (ctx) => void gatedSteps.push(ctx.step) };
    const gatedSteps: number[] = [];
    const hooks = [logger(own, { every: 25, name: "own" }), logger(other), plain, gated];
    await tinyTrainer({ samples: 400, steps: 100, hooks }).fit();
    const tens = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100];
    expect([...new Set(stepsOf(own))]).toEqual([25, 50, 75, 100]);
    expect(own.records.slice(0, 3).every(({ scalars }) => Number.isFinite(scalars.loss))).toBe(true);
    expect([...new Set(stepsOf(other))]).toEqual(tens);
    expect([...new Set(logged)]).toEqual(tens);
    expect(gatedSteps).toEqual([35, 70]);
  });

  it("every epoch: one record with the epoch's metrics, also where the trainer logs its last step", async () => {
    const backend = recording();
    await run(backend, { every: "1 epoch" }, { logEvery: 1, epochs: 3 });
    expect(stepsOf(backend)).toEqual([4, 8, 12]);
    expect(backend.records.every(({ scalars }) => scalars["train/loss"]! > 0)).toBe(true);
  });

  it("what waits for the trainer's own log is not taken away by another's cadence", async () => {
    const own = recording();
    const other = recording();
    const hooks = [logger(own, { every: 3, name: "own" }), logger(other)];
    await tinyTrainer({ epochs: 4, logEvery: "2 epochs", hooks }).fit();
    expect([...new Set(stepsOf(own))]).toEqual([3, 6, 9, 12, 15, 16]);
    expect(stepsOf(other)).toEqual([8, 16]);
    expect(other.records.map(({ scalars }) => Number.isFinite(scalars["train/loss"]))).toEqual([true, true]);
  });

  it("media too: histograms as they are", async () => {
    const backend = recording();
    const values = histogram([1, 2, 2, 3], { bins: 2 });
    const reports: Hook = {
      name: "reports",
      onStepEnd: (ctx) => (ctx.step === 1 ? ctx.log({ weights: values }) : undefined),
    };
    await run(backend, { prefix: "a/" }, { hooks: [reports] });
    expect(backend.records[0]!.media).toEqual({ "a/weights": values });
    expect(Object.keys(backend.records[0]!.scalars)[0]).toBe("a/loss");
  });

  it("of an evaluation on its own is appended to the run", async () => {
    const backend = recording();
    await using trainer = tinyTrainer({ hooks: [logger(backend)] });
    await trainer.fit();
    await trainer.evaluate(evalLoader());
    expect(backend.runs.map(({ resumedAt, continued }) => [resumedAt, continued])).toEqual([
      [undefined, undefined],
      [4, true],
    ]);
    expect(backend.records.at(-1)).toMatchObject({ step: 4, scalars: { "test/loss": expect.any(Number) as number } });
    expect(backend.calls.filter((call) => call === "close")).toHaveLength(2);
    expect(backend.runs[0]!.id).toBe(backend.runs[1]!.id);
  });
});

it("a backend without open or close is an error when the logger is made", () => {
  const half = { name: "half", log: () => undefined } as never;
  expect(() => logger([half])).toThrow("logger: the backend `half` has no `open`; it needs open, log and close.");
});

it("what is logged when training ends is written at the last step, media too", async () => {
  const backend = recording();
  const last: Hook = { name: "last", onTrainEnd: (ctx) => ctx.log({ speed: 7, note: text("over") }) };
  await run(backend, {}, { hooks: [last] });
  expect(stepsOf(backend)).toEqual([2, 4, 4, 4]);
  expect(backend.records.at(-1)).toMatchObject({ step: 4, scalars: { speed: 7 }, media: { note: text("over") } });
  expect(Object.keys(backend.records.at(-1)!.scalars)).toEqual(["speed"]);
});

describe("the run", () => {
  it("is described without secrets, by key and by value", async () => {
    const backend = recording();
    process.env.HOOKLINE_TEST_TOKEN = "value-of-a-secret-token";
    const trainer = {
      runDir: "runs/digits",
      seed: 3,
      mix: { apiKey: "abcdefgh12345", nested: { url: "https://me:pw@host/x" } },
    };
    try {
      await run(
        backend,
        { hparams: { note: "uses value-of-a-secret-token", hidden: 8 } },
        trainer as unknown as TinyOptions,
      );
    } catch {
      // `mix` is not valid here: what matters is what is told of it.
    } finally {
      delete process.env.HOOKLINE_TEST_TOKEN;
    }
    const told = JSON.stringify(backend.runs);
    for (const secret of ["value-of-a-secret-token", "abcdefgh12345", "me:pw"]) expect(told).not.toContain(secret);
  });

  it("has a name, its options as hyperparameters, and facts", async () => {
    const backend = recording();
    await run(backend, {}, { runDir: "/tmp/hookline-runs/digits/", seed: 3, accumulate: 2 });
    expect(backend.runs).toMatchObject([
      { name: "digits", resumedAt: undefined, hparams: { seed: 3, accumulate: 2, "optimizer.lr": 0.1 }, totalSteps: 2 },
    ]);
    expect(backend.runs[0]!.about).toMatchObject({
      engine: testEngine(),
      parameters: 4,
      seed: 3,
      node: process.version,
      // Who finds the files of a run that was killed can tell that by these, though its pid is used again.
      ...thisProcess(),
    });
    const picked = recording();
    await run(picked, { hparams: ["seed"] }, { seed: 3 });
    expect(picked.runs[0]!.hparams).toEqual({ seed: 3 });
    await expect(run(recording(), { hparams: ["sed"] }, { seed: 3 })).rejects.toThrow("Did you mean `seed`?");
  });

  it("shows the rates that the optimizers were made with, also after steps, a resume and an evaluation", async () => {
    const backend = recording();
    const store = memoryStore();
    const decays = { store, optimizer: sgd({ lr: 0.1, momentum: 0.9 }), schedule: cosine({ min: 0 }) };
    const changes: Hook = {
      name: "changes",
      onTrainBegin: ({ optimizers }) => (optimizers[0]!.groups[0]!.weightDecay = 0.3),
    };
    await using first = tinyTrainer({ ...decays, hooks: [modelCheckpoint(), changes, logger(backend)] });
    await first.fit();
    await first.evaluate(evalLoader());
    await using second = tinyTrainer({ ...decays, epochs: 2, hooks: [modelCheckpoint(), logger(backend)] });
    await second.fit({ resume: "auto" });
    await second.evaluate(evalLoader());
    const made = { "optimizer.lr": 0.1, "optimizer.weightDecay": 0, "optimizer.momentum": 0.9 };
    for (const { hparams } of backend.runs) expect(hparams).toMatchObject(made);
    expect(backend.runs.length).toBeGreaterThan(1);
  });

  it("goes on under its id after a resume, from the step it is at", async () => {
    const store = memoryStore();
    const saving: Hook = { name: "saving", onStepEnd: (ctx) => (ctx.step === 2 ? ctx.requestSave() : undefined) };
    const first = recording();
    await run(first, {}, { store, save: "sync", hooks: [saving] });
    const second = recording();
    await using trainer = tinyTrainer({ store, logEvery: 1, hooks: [logger(second)] });
    await trainer.fit({ resume: "step-000002" });
    expect(second.runs).toMatchObject([{ id: first.runs[0]!.id, resumedAt: 2 }]);
    expect(stepsOf(second)).toEqual([3, 4, 4]);
  });

  it("says which of its records came before the checkpoint, and keeps what waits for the next one", async () => {
    const store = memoryStore();
    // At the last step of the first epoch: after the record of the step, before that of the epoch.
    const saving: Hook = { name: "saving", onStepEnd: (ctx) => (ctx.step === 4 ? ctx.requestSave() : undefined) };
    const [all, rare] = [recording("all"), recording("rare")];
    const counts: Hook = { name: "counts", onStepEnd: (ctx) => ctx.log({ [`at ${ctx.step}`]: NaN }) };
    const hooks = (): Hook[] => [counts, saving, logger(all), logger(rare, { name: "rare", every: "3 steps" })];
    const options = { store, save: "sync", epochs: 2, logEvery: 2 } as const;
    await using first = tinyTrainer({ ...options, hooks: hooks() });
    await first.fit();
    const whole = { all: [...all.records], rare: [...rare.records] };
    for (const backend of [all, rare]) backend.records.length = 0;
    await using second = tinyTrainer({ ...options, hooks: hooks() });
    await second.fit({ resume: "step-000004" });
    expect([all, rare].map(({ runs }) => runs.at(-1)!.lastRecord)).toEqual([
      { step: 4, count: 1 },
      { step: 3, count: 1 },
    ]);
    // What came before is kept by the backends; all that follows comes again.
    const shown = (records: readonly LogRecord[]): unknown[] =>
      records.map(({ step, epoch, scalars }) => [step, epoch, Object.keys(scalars).filter((key) => !/perf/.test(key))]);
    expect(shown(all.records)).toEqual(shown(whole.all.slice(4)));
    expect(shown(rare.records)).toEqual(shown(whole.rare.slice(1)));
    expect(Object.keys(rare.records[0]!.scalars)).toContain("at 4");
  });

  it("of an older checkpoint, which does not say it, keeps all up to its step", async () => {
    const store = memoryStore();
    const saving: Hook = { name: "saving", onStepEnd: (ctx) => (ctx.step >= 3 ? ctx.requestSave() : undefined) };
    const backend = recording();
    const old: Hook = { ...logger(backend), state: () => ({ json: { id: "old" } }) };
    await using first = tinyTrainer({ store, save: "sync", hooks: [saving, old] });
    await first.fit();
    await using second = tinyTrainer({ store, save: "sync", epochs: 2, logEvery: 1, hooks: [saving, logger(backend)] });
    // Its own checkpoint of the same step, before the epoch's record, does not know the number either.
    await second.fit({ resume: "step-000003" });
    await using third = tinyTrainer({ store, epochs: 3, logEvery: 1, hooks: [logger(backend)] });
    await third.fit({ resume: "auto" });
    expect(backend.runs.map(({ id, resumedAt, lastRecord }) => [id, resumedAt, lastRecord])).toEqual([
      [expect.any(String), undefined, undefined],
      ["old", 3, { step: 3, count: Infinity }],
      ["old", 8, { step: 8, count: 1 }],
    ]);
  });

  it("tells what happened: interventions, hook errors, saves, start and end", async () => {
    const backend = recording();
    const acts: Hook = {
      name: "acts",
      onError: "warn",
      onStepEnd(ctx) {
        if (ctx.step === 1) ctx.setLr(0.05, "too fast");
        if (ctx.step === 2) ctx.requestSave();
        if (ctx.step === 3) throw new Error("for once");
      },
    };
    await run(backend, {}, { hooks: [acts], store: memoryStore(), save: "sync" });
    expect(backend.events.map(({ type, step }) => `${type} ${step}`)).toEqual([
      "start 0",
      "hooks 0",
      "intervention 1",
      "intervention 2",
      "save 2",
      "hookError 3",
      "hooks 4",
      "end 4",
    ]);
    const setLr = { who: "acts", event: "stepEnd", what: "setLr(0.05)", why: "too fast", epoch: 0 };
    expect(backend.events[2]!.details).toEqual(setLr);
    // What is logged up to a checkpoint is handed over before it is written.
    const { calls } = backend;
    expect(calls.slice(calls.indexOf("log 2"), calls.indexOf("log 4"))).toContain("flush");
  });

  it("states its hooks and what they cost: at the start, when they change, and at the end", async () => {
    const backend = recording();
    const acts: Hook = {
      name: "acts",
      onStepEnd(ctx) {
        if (ctx.step === 1) ctx.hooks.disable("acts");
      },
    };
    await run(backend, {}, { hooks: [acts], logEvery: 1 });
    const notes = backend.events.filter(({ type }) => type === "hooks");
    const acting = notes.map(({ step, details }) => {
      const { hooks } = details as unknown as { readonly hooks: { name: string; stage: string; enabled: boolean }[] };
      return [step, hooks.find(({ name }) => name === "acts")];
    });
    const row = { name: "acts", stage: "user", events: ["stepEnd"] };
    expect(acting).toEqual([
      [0, { ...row, enabled: true }],
      [1, { ...row, enabled: false }],
      [4, { ...row, enabled: false }],
    ]);
    const { times } = notes.at(-1)!.details as unknown as { readonly times: [string, string, number, number][] };
    expect(times.find(([hook]) => hook === "acts")).toEqual(["acts", "stepEnd", 1, expect.any(Number)]);
    expect(backend.records.map(({ samples }) => samples)).toEqual([4, 8, 12, 16, 16]);
  });

  it("is on the disk soon while a page shows it, however rarely it is flushed", async () => {
    const dir = tempDir();
    mkdirSync(`${dir}/control`);
    writeFileSync(`${dir}/control/watch`, "");
    const seen: boolean[] = [];
    const looks: Hook = {
      name: "looks",
      async onStepEnd({ step }) {
        if (step !== 3) return;
        while (!readFileSync(`${dir}/metrics.jsonl`, "utf8").includes('"step":2,'))
          await new Promise((resolve) => setTimeout(resolve, 5));
        seen.push(true);
      },
    };
    await run(jsonl(), { flushEvery: 1e6 }, { hooks: [looks], runDir: dir, logEvery: 1 });
    expect(seen).toEqual([true]);
  });

  it.each([
    ["an event, though the next log is far away", { flushEvery: 1e6 }, 100, "events.jsonl", "setLr(0.5)"],
    ["a record, though no other follows", { flushEvery: 0.2 }, 1, "metrics.jsonl", '"step":2,'],
  ])("is on the disk soon: %s", async (_, options, logEvery, file, text) => {
    const dir = tempDir();
    const seen: boolean[] = [];
    const acts: Hook = {
      name: "acts",
      async onStepEnd(ctx) {
        if (ctx.step === 1) ctx.setLr(0.5);
        if (ctx.step !== 3) return;
        while (!readFileSync(`${dir}/${file}`, "utf8").includes(text))
          await new Promise((resolve) => setTimeout(resolve, 5));
        seen.push(true);
      },
    };
    await run(jsonl(), options, { hooks: [acts], runDir: dir, logEvery });
    expect(seen).toEqual([true]);
  });

  it("tells at once what hooks do and what is refused, and when it pauses", async () => {
    const backend = recording();
    const seen: string[] = [];
    const acts: Hook = {
      name: "acts",
      onStepEnd(ctx) {
        if (ctx.step !== 2) return;
        ctx.onBehalf({ by: "ada@lab3", command: "c1" }, () => ctx.stop("enough"));
        seen.push(backend.events.at(-1)!.type);
        ctx.pause();
      },
      onPause: (ctx) => ctx.wake(),
      onCommand: (ctx) => ctx.continue(),
    };
    await run(backend, {}, { hooks: [acts], minSteps: 4, logEvery: 100 });
    expect(seen).toEqual(["intervention"]);
    const told = {
      who: "acts",
      event: "stepEnd",
      what: "stop",
      why: "enough",
      epoch: 0,
      by: "ada@lab3",
      command: "c1",
    };
    expect(
      backend.events
        .filter(({ type }) => !["start", "hooks"].includes(type))
        .map(({ type, step, details }) => [type, step, details]),
    ).toEqual([
      ["intervention", 2, told],
      ["intervention", 2, { who: "acts", event: "stepEnd", what: "pause", why: "", epoch: 0 }],
      ["refused", 2, { ...told, refused: "before minSteps (4)" }],
      ["pause", 2, {}],
      ["intervention", 2, { who: "acts", event: "command", what: "continue", why: "", epoch: 0 }],
      ["continue", 2, {}],
      ["end", 4, expect.anything()],
    ]);
  });

  it("that fails is closed with its error", async () => {
    const backend = recording();
    const bad: Hook = {
      name: "bad",
      onStepEnd: (ctx) => (ctx.step === 2 ? Promise.reject(new Error("no")) : undefined),
    };
    await expect(run(backend, {}, { hooks: [bad] })).rejects.toThrow("no");
    expect(backend.ends).toMatchObject([{ status: "error", step: 2 }]);
  });
});

describe("a backend that fails", () => {
  it("does not disturb the others, is reported once, and is no longer used after three failures in a row", async () => {
    const good = recording("good");
    let tries = 0;
    const bad = recording("bad", {
      log() {
        tries++;
        throw new Error("no space left");
      },
    });
    const { result, warnings } = await run([bad, good], {}, { logEvery: 1, samples: 32 });
    expect(result.status).toBe("completed");
    expect(stepsOf(good)).toHaveLength(9);
    expect(tries).toBe(3);
    expect(warnings).toEqual([
      "logger: backend bad: no space left",
      "logger: backend bad is no longer used after 3 failures in a row",
    ]);
  });
});

it("a typo in a backend's name is an error with the nearest", () => {
  expect(() => logger("tensorbord" as never)).toThrow("Did you mean `tensorboard`?");
  expect(() => logger([{} as never])).toThrow("Expected a backend");
});
