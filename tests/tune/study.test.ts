// A study in this process: what it finds, what ends it, what it keeps, and what its hooks may do.
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { HookError, type Hook } from "hookline";
import {
  asha,
  choice,
  grid,
  hyperband,
  int,
  pbt,
  random,
  Space,
  Study,
  StudyError,
  tpe,
  TrialPruned,
  uniform,
  type StudyOptions,
  type Trial,
} from "hookline/tune";
import { describe, expect, test } from "vitest";
import type { JournalLine } from "../../src/tune/journal-format.ts";
import { StudyState } from "../../src/tune/study-state.ts";
import { tempDir } from "../support/temp-dir.ts";

const space = { x: uniform(-1, 1) };
type Tree = typeof space;
type X = { readonly x: number };
const trial = ({ params: { x } }: Trial<X>) => ({ loss: x ** 2 });

const studyOf = (options: Partial<StudyOptions<Tree>> = {}): Study<Tree> =>
  new Study({ space, objective: "loss", trials: 5, trial, signals: false, ...options });

const journalOf = (dir: string): { type: string; trial?: number }[] =>
  readFileSync(`${dir}/journal.jsonl`, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string; trial?: number });

describe("results", () => {
  test("the best trial, the table, and the same study again", async () => {
    const study = studyOf({ trials: 30 });
    const { status, reason, best, trials } = await study.run();
    expect([status, reason, trials.length]).toEqual(["completed", "30 trials", 30]);
    expect(best!.result!.loss).toBe(Math.min(...trials.map(({ result }) => result!.loss!)));
    expect(study.best).toEqual(best);
    const lines = study.table().split("\n");
    expect(lines[0]).toMatch(/^trial +status +steps +loss +x$/);
    expect(lines[1]).toMatch(new RegExp(`^${best!.number} +completed`));
    expect((await studyOf({ trials: 30 }).run()).trials).toEqual(trials);
    expect((await studyOf({ trials: 30, seed: 1 }).run()).trials).not.toEqual(trials);
  });

  test("each trial has a seed of its own, a function of the study's", async () => {
    const seeds = async (seed: number): Promise<number[]> => {
      const found: number[] = [];
      await studyOf({ seed, trial: (each) => (found.push(each.seed), trial(each)) }).run();
      return found;
    };
    const first = await seeds(1);
    expect(new Set(first).size).toBe(5);
    expect(await seeds(1)).toEqual(first);
    expect(await seeds(2)).not.toEqual(first);
  });

  test("several objectives: the trials that no other beats", async () => {
    const study = new Study({
      space: { a: int(1, 3), b: choice([1, 2]) },
      sampler: grid({ a: int(1, 3), b: choice([1, 2]) }),
      objectives: ["loss", "accuracy"],
      trial: ({ params: { a, b } }) => ({ loss: a * b, accuracy: a }),
    });
    await study.run();
    expect(study.front.map(({ params }) => params)).toEqual([
      { a: 1, b: 1 },
      { a: 2, b: 1 },
      { a: 3, b: 1 },
    ]);
  });

  test("a trial that diverges is worse than any other", async () => {
    const { best, trials } = await studyOf({ trial: (each) => ({ loss: each.number === 3 ? 1 : NaN }) }).run();
    expect(best!.number).toBe(3);
    expect(trials.every(({ status }) => status === "completed")).toBe(true);
  });
});

describe("schedulers", () => {
  const curve = async (each: Trial<X>): Promise<void> => {
    for (let step = 1; step <= 9; step++) {
      await each.checkpoint(`memory:${each.number}:${step}`);
      await each.report({ loss: each.params.x ** 2 + 1 / step }, step);
    }
  };

  test("asha ends trials early, and their reports count", async () => {
    const { trials, best } = await studyOf({ trials: 20, trial: curve, scheduler: asha({ maxSteps: 9 }) }).run();
    const pruned = trials.filter(({ status }) => status === "pruned");
    expect(pruned.length).toBeGreaterThan(5);
    expect(pruned.every(({ reports, reason }) => reports.length < 9 && reason !== "")).toBe(true);
    expect(best!.reports).toHaveLength(9);
  });

  test("hyperband pauses, resumes from the checkpoint and drops, with several at once too", async () => {
    const starts: (string | undefined)[] = [];
    const restored: Hook = { name: "r", onTrialRestore: ({ checkpoint }) => void starts.push(checkpoint.path) };
    for (const concurrency of [1, 3]) {
      const options = { trials: 15, trial: curve, scheduler: hyperband({ maxSteps: 9 }), hooks: [restored] };
      const { trials } = await studyOf({ ...options, concurrency }).run();
      expect(trials.every(({ status }) => status === "pruned" || status === "completed")).toBe(true);
      for (const { reports } of trials) expect(reports.map(({ step }) => step)).toEqual(reports.map((_, i) => i + 1));
    }
    expect(starts.length).toBeGreaterThan(4);
    expect(starts[0]).toMatch(/^memory:/);
  });

  test("pbt: trials go on from others, with other params", async () => {
    const population = async (each: Trial<X>): Promise<void> => {
      let step = each.resume === undefined ? 0 : Number(each.resume.split(":")[2]);
      while (step < 12) {
        step++;
        await each.report({ loss: each.params.x ** 2 + 1 / step }, step);
        await each.checkpoint(`memory:${each.number}:${step}`);
        await sleep(1);
      }
    };
    const scheduler = pbt({ every: 3, quantile: 0.5 });
    const study = studyOf({ trials: 4, concurrency: 4, trial: population, scheduler, sampler: random(space) });
    const { trials } = await study.run();
    expect(trials.some(({ attempts }) => attempts > 1)).toBe(true);
    expect(trials.every(({ status, reports }) => status === "completed" && reports.length === 12)).toBe(true);
  });

  test("a trial that is pruned is told so, and what it returns then is not its result", async () => {
    const told: unknown[] = [];
    const scheduler = { name: "all", decide: () => ({ kind: "prune", reason: "no good" }) as const };
    const { trials } = await studyOf({
      trials: 1,
      scheduler,
      trial: async (each) => {
        await each.report({ loss: 5 }).catch((error: unknown) => told.push(error));
        return { loss: -1 };
      },
    }).run();
    expect(told).toEqual([new TrialPruned("prune", "no good")]);
    expect(trials[0]).toMatchObject({ status: "pruned", result: { loss: 5 }, reason: "no good" });
  });
});

describe("budgets", () => {
  const slow = async (each: Trial<X>): Promise<void> => {
    for (let step = 1; step <= 100; step++) {
      await sleep(5);
      await each.report({ loss: 1 }, step);
    }
  };

  test("steps of all trials together", async () => {
    const { status, reason, trials } = await studyOf({ trials: 50, steps: 150, trial: slow }).run();
    expect([status, reason]).toEqual(["completed", "150 steps"]);
    expect(trials.map(({ status: of, reports }) => [of, reports.length])).toEqual([
      ["completed", 100],
      ["interrupted", 50],
    ]);
  });

  test("seconds, also for a trial that never reports but listens", async () => {
    const deaf = async ({ signal }: Trial<X>): Promise<void> => {
      await sleep(60_000, undefined, { signal });
    };
    const { reason } = await studyOf({ trials: 50, seconds: 0.3, trial: deaf }).run();
    expect(reason).toBe("0.3 seconds");
  });

  test("concurrency: so many at once, and no more", async () => {
    let [now, most] = [0, 0];
    let isFull = (): void => undefined;
    const full = new Promise<void>((resolve) => (isFull = resolve));
    const counting = async (): Promise<{ loss: number }> => {
      most = Math.max(most, ++now);
      if (now === 4) isFull();
      await full;
      await sleep(5);
      now--;
      return { loss: 1 };
    };
    await studyOf({ trials: 12, concurrency: 4, trial: counting }).run();
    expect(most).toBe(4);
  });
});

describe("the journal", () => {
  test("a study goes on from it: nothing is done twice, and suggestions are the same", async () => {
    const whole = await studyOf({ trials: 15 }).run();
    const dir = tempDir();
    const stop: Hook = {
      name: "stop",
      onTrialComplete: ({ trial: { number }, stop: end }) => void (number === 11 && end("later")),
    };
    const first = await studyOf({ trials: 15, dir, hooks: [stop] }).run();
    expect(first).toMatchObject({ status: "stopped", reason: "later", requestedBy: "stop" });
    let calls = 0;
    const { trials } = await studyOf({ trials: 15, dir, trial: (each) => (calls++, trial(each)) }).run();
    expect(calls).toBe(3);
    expect(trials.map(({ params, result }) => [params, result])).toEqual(
      whole.trials.map(({ params, result }) => [params, result]),
    );
    // All done: opening it once more does nothing.
    expect((await studyOf({ trials: 15, dir, trial: () => expect.unreachable() }).run()).trials).toEqual(trials);
  });

  test("with several at once, each suggestion is that of the lines before it", async () => {
    const dir = tempDir();
    const jumpy = async (each: Trial<X>): Promise<{ loss: number }> => {
      await sleep((each.seed % 5) + 1);
      return { loss: each.params.x ** 2 };
    };
    const sampler = tpe(space, { startup: 4 });
    await studyOf({ dir, trials: 20, concurrency: 3, sampler, trial: jumpy }).run();
    const state = new StudyState(() => undefined);
    const view = { space: new Space(space), objectives: [{ metric: "loss", mode: "min" }] } as const;
    const lines = journalOf(dir) as JournalLine[];
    for (const line of lines) {
      if (line.type === "suggested") expect(sampler.suggest(line.trial, state.trials, view)).toEqual(line.params);
      state.apply(line);
    }
    expect(state.trials.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => "completed"));
  });

  test("a torn last line is ignored and gone; a damaged one before it is an error with its place", async () => {
    const dir = tempDir();
    await studyOf({ trials: 2, dir }).run();
    const file = `${dir}/journal.jsonl`;
    const before = readFileSync(file, "utf8");
    appendFileSync(file, '{"type":"suggested","trial":2,"par');
    await studyOf({ trials: 3, dir }).run();
    expect(journalOf(dir).filter(({ type }) => type === "completed")).toHaveLength(3);
    writeFileSync(file, before.replace('"type":"started"', '"type:"started"'));
    await expect(studyOf({ trials: 3, dir }).run()).rejects.toThrow(
      /journal\.jsonl:3 is damaged: .*\. Restore the file/,
    );
  });

  test("another study in the directory is refused, and says what differs", async () => {
    const dir = tempDir();
    await studyOf({ dir }).run();
    await expect(studyOf({ dir, seed: 1 }).run()).rejects.toThrow(
      /has another `seed`: 0 there, 1 here\. Continue with the same one, give this study another `dir`/,
    );
    await expect(studyOf({ dir, objective: "accuracy" }).run()).rejects.toThrow(/another `objectives`/);
    const wider = { x: uniform(-1, 2) };
    await expect(studyOf({ dir, space: wider }).run()).rejects.toThrow(/another `space`\. Continue with the same/);
    await expect(studyOf({ dir, sampler: random(space) }).run()).rejects.toThrow(/another `sampler`: "tpe" there/);
    // More trials are no other study.
    expect((await studyOf({ dir, trials: 7 }).run()).trials).toHaveLength(7);
  });

  test("two controllers: the second refuses, and the first goes on", async () => {
    const dir = tempDir();
    const second: unknown[] = [];
    const other: Hook = {
      name: "other",
      onTrialStart: async ({ trial: { number } }) => {
        if (number === 1)
          second.push(
            await studyOf({ dir })
              .run()
              .catch((error: unknown) => error),
          );
      },
    };
    expect((await studyOf({ dir, hooks: [other] }).run()).status).toBe("completed");
    expect(second[0]).toBeInstanceOf(StudyError);
    expect(String(second[0])).toContain(`another controller is at work in ${dir}`);
  });

  test("what was decided before a kill is carried out: a pruned trial does not run again", async () => {
    const dir = tempDir();
    const scheduler = { name: "all", decide: () => ({ kind: "prune", reason: "no good" }) as const };
    const reports = async (each: Trial<X>): Promise<void> => each.report({ loss: each.params.x });
    await studyOf({ dir, trials: 1, scheduler, trial: reports }).run();
    const text = readFileSync(`${dir}/journal.jsonl`, "utf8");
    // As a kill right after the decision leaves it.
    writeFileSync(`${dir}/journal.jsonl`, text.slice(0, text.indexOf('{"type":"left"')));
    const { trials } = await studyOf({ dir, trials: 1, scheduler, trial: () => expect.unreachable() }).run();
    expect(trials[0]).toMatchObject({ status: "pruned", reason: "no good" });
  });
});

describe("ask and tell", () => {
  test("by hand, with the suggestions of run()", async () => {
    const { trials } = await studyOf({ trials: 14 }).run();
    const study = studyOf({ trials: 14, trial: undefined });
    for (let asked = study.ask(); asked; asked = study.ask()) study.tell(asked.number, { loss: asked.params.x ** 2 });
    expect(study.trials.map(({ params, result }) => [params, result])).toEqual(
      trials.map(({ params, result }) => [params, result]),
    );
  });

  test("what was asked and not told is asked again by the next controller", () => {
    const dir = tempDir();
    const first = studyOf({ dir });
    const [a, b] = [first.ask()!, first.ask()!];
    first.tell(a.number, { loss: 1 });
    first.close();
    const second = studyOf({ dir });
    expect(second.ask()).toEqual(b);
    expect(() => second.tell(0, { loss: 1 })).toThrow(
      "tell(0): this trial was not asked for, or its result is known already. Open trials: 1.",
    );
    expect(() => second.tell(1, { los: 1 })).toThrow("tell(1): the objective `loss` is missing. Got: los.");
    second.tell(1, new Error("no"));
    expect(second.trials[1]).toMatchObject({ status: "failed", reason: "no" });
    second.close();
  });
});

describe("hooks", () => {
  test("run in the order of their stages and see what those before them did to a result, which counts", async () => {
    const seen: string[] = [];
    const late: Hook = {
      name: "late",
      stage: "logger",
      onTrialResult: ({ result }) => void seen.push(`late ${result.loss}`),
    };
    const early: Hook = {
      name: "early",
      onTrialResult: ({ result, trial: { number } }) => {
        result.loss = number;
        result.extra = 1;
      },
    };
    const reports = (each: Trial<X>): Promise<void> => each.report({ loss: 100 });
    const { trials } = await studyOf({ trials: 2, hooks: [late, early], trial: reports }).run();
    expect(seen).toEqual(["late 0", "late 1"]);
    expect(trials.map(({ result }) => result)).toEqual([
      { loss: 0, extra: 1 },
      { loss: 1, extra: 1 },
    ]);
  });

  test("a hook that throws ends the study, or as its policy says; experimentEnd comes all the same", async () => {
    const ends: string[] = [];
    const bad = (onError?: Hook["onError"]): Hook => ({
      name: "bad",
      ...(onError && { onError }),
      onTrialStart: () => {
        throw new TypeError("oops");
      },
      onExperimentEnd: ({ status }) => void ends.push(status),
    });
    await expect(studyOf({ hooks: [bad()] }).run()).rejects.toThrow(
      new HookError("bad", "trialStart", undefined, new TypeError("oops")),
    );
    const warnings: string[] = [];
    const warn = (message: string): void => void warnings.push(message);
    const { hookErrors, trials } = await studyOf({ hooks: [bad("warn")], warn }).run();
    expect([hookErrors.length, trials.length, warnings.length]).toEqual([5, 5, 5]);
    await studyOf({ hooks: [bad("disable")], warn }).run();
    expect(warnings.at(-1)).toBe("Hook `bad` is switched off.");
    expect(ends).toEqual(["error", "completed"]);
  });

  test("a result that a hook spoils is that hook's error", async () => {
    const spoiler: Hook = {
      name: "spoiler",
      onTrialResult: ({ result }) => void ((result as Record<string, unknown>).loss = "no"),
    };
    await expect(studyOf({ hooks: [spoiler], trial: (each) => each.report({ loss: 1 }) }).run()).rejects.toThrow(
      /Hook `spoiler` failed in `trialResult`: OptionError: ctx\.result: Expected `loss` to be a number/,
    );
  });

  test("a slow hook is named, and holds up no trial; events still come in order", async () => {
    const warnings: string[] = [];
    const seen: number[] = [];
    let ended = 0;
    let allEnded = (): void => undefined;
    const end = new Promise<void>((resolve) => (allEnded = resolve));
    const slow: Hook = {
      name: "slow",
      budget: 20,
      // A study that waited for it would never end.
      async onTrialResult({ trial: { number } }) {
        if (number === 0) await end;
        seen.push(number);
      },
    };
    const reports = async (each: Trial<X>): Promise<void> => {
      await each.report({ loss: 1 });
      if (++ended === 5) allEnded();
    };
    const warn = (message: string): void => void warnings.push(message);
    await studyOf({ hooks: [slow], trial: reports, concurrency: 2, warn }).run();
    expect(ended).toBe(5);
    expect(seen).toEqual([0, 1, 2, 3, 4]);
    expect(warnings).toEqual([
      expect.stringMatching(/^Hook `slow` takes more than 20 ms in `trialResult`\. Trials continue/),
    ]);
  });

  test("their state comes back by name, in any order", async () => {
    const dir = tempDir();
    const counter = (name: string): Hook & { count: number } => ({
      name,
      count: 0,
      onTrialComplete() {
        this.count++;
      },
      state() {
        return { json: this.count };
      },
      load({ json }) {
        this.count = json as number;
      },
    });
    const [a, b] = [counter("a"), { ...counter("b"), onTrialComplete: () => undefined }];
    await studyOf({ dir, trials: 3, hooks: [a, b] }).run();
    const again = counter("a");
    await studyOf({ dir, trials: 5, hooks: [counter("new"), again] }).run();
    expect([a.count, again.count]).toEqual([3, 5]);
  });

  test("one object listens to the study and to the trainings", async () => {
    const { tinyTrainer } = await import("hookline/testing");
    const seen: string[] = [];
    const hook: Hook = {
      name: "both",
      onTrialStart: ({ trial: { number } }) => void seen.push(`trial ${number}`),
      onTrainEnd: ({ step }) => void seen.push(`step ${step}`),
      onTrialComplete: ({ result }) => void seen.push(`loss ${typeof result["train/loss"]}`),
    };
    const study = studyOf({
      objective: "train/loss",
      trials: 1,
      hooks: [hook],
      async trial(each) {
        await using trainer = tinyTrainer({ hooks: [hook, each.hook()] });
        await trainer.fit();
      },
    });
    await study.run();
    expect(seen).toEqual(["trial 0", "step 4", "loss number"]);
  });
});

describe("bad input", () => {
  test.each<[Record<string, unknown>, string]>([
    [{ trials: undefined }, "Study: it would never end. Set `trials`, `seconds` or `steps`"],
    [{ trails: 5 }, "Study: unknown option `trails`. Did you mean `trials`?"],
    [{ sampler: "bayes" }, "Study: Expected `sampler` to be a sampler: tpe(space), random(space)"],
    [{ space: { x: 1 } }, "space: there is no parameter to search, only constants"],
    [{ objective: { metric: "loss", mode: "least" } }, "Study: Expected `objective` to be a metric's name"],
    [{ objective: undefined, objectives: [] }, "Study: `objectives` is empty"],
    [{ objectives: ["a"] }, "Study: give `objective` or `objectives`, not both"],
    [{ objective: undefined, objectives: ["a", "a"] }, "the objective `a` is given twice"],
    [{ hooks: [{ name: "h", onTrialStarted: () => undefined }] }, "Did you mean `onTrialStart`?"],
  ])("%o", (options, message) => {
    expect(() => studyOf(options as Partial<StudyOptions<Tree>>)).toThrow(message);
  });

  test("an empty range", () => {
    expect(() => uniform(1, 1)).toThrow(/uniform/);
  });

  test("an objective that is never reported: named, with what was", async () => {
    const wrong = (each: Trial<X>): Promise<void> => each.report({ los: 1, accuracy: 2 });
    const study = studyOf({ trial: wrong, maxEqualFailures: 2 });
    await expect(study.run()).rejects.toThrow(
      "Study: 2 trials in a row have failed alike, so it ends here: StudyError: The trial never reported its objective `loss`. It reported: los, accuracy.",
    );
    // To try it again would change nothing.
    expect(study.trials.map(({ attempts }) => attempts)).toEqual([1, 1]);
  });

  test("values that are no numbers, and steps that are none", async () => {
    const run = (report: (each: Trial<X>) => unknown): Promise<unknown> =>
      studyOf({ retries: 0, maxEqualFailures: 1, trial: async (each) => void (await report(each)) }).run();
    await expect(run((each) => each.report({ loss: "1" } as never))).rejects.toThrow(
      /Expected `loss` to be a number, got `"1"`/,
    );
    await expect(run((each) => each.report(5 as never))).rejects.toThrow(/expected an object of numbers/);
    await expect(run((each) => each.report({ loss: 1 }, NaN))).rejects.toThrow(
      /Expected `step` to be a finite number > 0/,
    );
  });

  test("failures that differ, or with a success between them, do not end it", async () => {
    const mixed = (each: Trial<X>): { loss: number } => {
      if (each.number % 3 === 2) return { loss: 1 };
      throw new Error("no luck");
    };
    const { status, trials } = await studyOf({ trials: 12, retries: 0, trial: mixed }).run();
    expect(status).toBe("completed");
    expect(trials.filter(({ status: of }) => of === "failed")).toHaveLength(8);
  });
});
