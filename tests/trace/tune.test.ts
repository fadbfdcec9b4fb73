// The canonical traces of a study: what its hooks see of each trial, from its start to what becomes of it.
import { modelCheckpoint, type Hook, type TrialCheckpoint, type TrialInfo, type TuneEvent } from "hookline";
import { DataLoader } from "hookline/data";
import { recordTrace, tinyData, tinyTrainer, type TraceEntry } from "hookline/testing";
import { grid, int, Study, uniform, type Scheduler, type StudyOptions, type Trial } from "hookline/tune";
import { describe, expect, test } from "vitest";
import { TUNE_EVENTS } from "../../src/core/outer-events.ts";
import { tempDir } from "../support/temp-dir.ts";

const events = Object.keys(TUNE_EVENTS) as TuneEvent[];
const space = { x: int(1, 2) };
type Space = typeof space;

const NEW_LINE = new Set<string>(["tuneStepBegin", "experimentEnd"]);

function label({ event, fields }: TraceEntry): string {
  const notes: string[] = [];
  const trial = fields.trial as TrialInfo | undefined;
  if (trial) notes.push(`trial ${trial.number}`);
  if (event === "tuneSetup" && fields.resumed === true) notes.push("resumed");
  if (event === "trialResult") notes.push(`step ${String(fields.trialStep)}`);
  if (event === "trialComplete") notes.push(trial!.status);
  if (event === "trialRestore") notes.push(`from trial ${(fields.checkpoint as TrialCheckpoint).trial}`);
  if (event === "trialRecover" || event === "trialError") notes.push((fields.error as Error).message);
  if (event === "experimentEnd") notes.push(`${String(fields.status)}: ${String(fields.reason)}`);
  return notes.length > 0 ? `${event}(${notes.join(", ")})` : event;
}

function outline(entries: readonly TraceEntry[]): string {
  const lines: string[][] = [[]];
  for (const entry of entries) {
    if (NEW_LINE.has(entry.event) && lines.at(-1)!.length > 0) lines.push([]);
    lines.at(-1)!.push(label(entry));
  }
  return `${lines.map((line) => line.join(" → ")).join("\n")}\n`;
}

async function trace(options: Partial<StudyOptions<Space>>): Promise<string> {
  const recorder = recordTrace({ events });
  const study = new Study({
    space,
    sampler: grid(space),
    objective: "loss",
    signals: false,
    ...options,
    hooks: [...(options.hooks ?? []), recorder],
  });
  await study.run().catch(() => undefined);
  return outline(recorder.entries);
}

/** Two steps, with a checkpoint between them. */
async function twoSteps(trial: Trial<{ readonly x: number }>): Promise<void> {
  await trial.report({ loss: trial.params.x }, 1);
  await trial.checkpoint(`memory:${trial.number}`);
  await trial.report({ loss: trial.params.x / 2 }, 2);
}

const golden = (name: string): string => `./golden/tune-${name}.txt`;

describe("golden traces of a study", () => {
  test("success", async () => {
    await expect(await trace({ trial: twoSteps })).toMatchFileSnapshot(golden("success"));
  });

  test("retry after a crash, from the checkpoint", async () => {
    const trial = async (each: Trial<{ readonly x: number }>): Promise<void> => {
      if (each.resume !== undefined) return each.report({ loss: 0 }, 2);
      await each.report({ loss: 1 }, 1);
      await each.checkpoint("memory:0");
      throw new Error("crashed");
    };
    await expect(await trace({ trials: 1, trial })).toMatchFileSnapshot(golden("retry"));
  });

  test("final error", async () => {
    const trial = (): never => {
      throw new Error("crashed");
    };
    await expect(await trace({ trials: 1, trial })).toMatchFileSnapshot(golden("error"));
  });

  test("equal errors end the study", async () => {
    const trial = (): never => {
      throw new Error("crashed");
    };
    const options = { trial, retries: 0, maxEqualFailures: 2 };
    await expect(await trace(options)).toMatchFileSnapshot(golden("equal-errors"));
  });

  test("prune", async () => {
    const scheduler: Scheduler = {
      name: "second",
      decide: ({ number }, { step }) =>
        number === 1 && step === 1 ? { kind: "prune", reason: "worse" } : { kind: "continue" },
    };
    await expect(await trace({ trial: twoSteps, scheduler })).toMatchFileSnapshot(golden("prune"));
  });

  test("pause, and the next one first", async () => {
    const scheduler: Scheduler = {
      name: "turns",
      decide: (_, { step }) => (step === 1 ? { kind: "pause", reason: "waits" } : { kind: "continue" }),
      resume: (trials) => (trials.length === 2 ? trials.filter((t) => t.status === "paused").map((t) => t.number) : []),
    };
    await expect(await trace({ trial: twoSteps, scheduler })).toMatchFileSnapshot(golden("pause"));
  });

  test("controller resume: what was complete is left alone, the other goes on from its checkpoint", async () => {
    const dir = tempDir();
    const controller = new AbortController();
    const aborter: Hook = {
      name: "aborter",
      onTrialSave: ({ trial }) => void (trial.number === 1 && controller.abort()),
    };
    const options = { space, sampler: grid(space), objective: "loss", trial: twoSteps, dir, signals: false };
    const first = await new Study({ ...options, hooks: [aborter] }).run({ signal: controller.signal });
    expect(first).toMatchObject({ status: "interrupted", reason: "aborted" });
    await expect(await trace({ trial: twoSteps, dir })).toMatchFileSnapshot(golden("resume"));
  });

  test("PBT exploit of real trainings: the worse one goes on from the better one's checkpoint", async () => {
    const rates = { brake: uniform(0, 0.0999) };
    const better = { brake: 0.001 };
    const scheduler: Scheduler = {
      name: "once",
      decide: ({ number }, { step }) =>
        number === 1 && step === 8
          ? { kind: "exploit", from: 0, params: better, reason: "worse" }
          : { kind: "continue" },
    };
    const recorder = recordTrace({ events });
    const eval_ = new DataLoader(tinyData(8), { batchSize: 8 });
    const losses: number[] = [];
    const study = new Study({
      space: rates,
      trials: 2,
      sampler: grid(rates, { points: 2 }),
      scheduler,
      dir: tempDir(),
      hooks: [recorder],
      signals: false,
      async trial(each) {
        const lr = 0.1 - each.params.brake;
        await using trainer = tinyTrainer({
          epochs: each.number === 0 ? 2 : 3,
          eval: eval_,
          runDir: each.runDir!,
          save: "sync",
          hooks: [
            modelCheckpoint(),
            each.hook(),
            { name: "rate", onTrainBegin: (ctx) => ctx.setLr(lr) },
            { name: "losses", onEvalEnd: (ctx) => void losses.push(ctx.evalMetrics["val/loss"]!) },
          ],
        });
        await trainer.fit({ resume: each.resume });
      },
    });
    const { trials } = await study.run();
    expect(trials[1]!.params).toEqual(better);
    const [, good, , bad, after] = losses as [number, number, number, number, number];
    expect(losses).toHaveLength(5);
    // It goes on from the other's parameters: better at once than that one was.
    expect(bad).toBeGreaterThan(good);
    expect(after).toBeLessThan(good);
    await expect(outline(recorder.entries)).toMatchFileSnapshot(golden("exploit"));
  });
});

test("every event of a study fires", async () => {
  const recorder = recordTrace({ events });
  const study = new Study({
    space,
    sampler: grid(space),
    objective: "loss",
    hooks: [recorder],
    signals: false,
    async trial(each) {
      if (each.number === 1) throw new Error("always");
      await twoSteps(each);
      if (each.attempt === 0) throw new Error("once");
    },
  });
  await study.run();
  expect(events.filter((event) => !recorder.names().includes(event))).toEqual([]);
});
