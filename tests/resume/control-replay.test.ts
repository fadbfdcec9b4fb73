// A run that was steered from outside ends with the same bits when its journal is repeated: from its seed, and from a
// checkpoint after any of its steps.
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { control, defineEvent, ema, type Hook, type Trainer } from "hookline";
import { memoryStore, type CheckpointStore } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { batchNorm, dropout, linear, relu, sequential } from "hookline/nn";
import { adamw, cosine } from "hookline/optim";
import { readControl, sendCommand } from "hookline/runs";
import { tinyData, tinyTrainer } from "hookline/testing";
import { expect, test } from "vitest";
import { appliedHistory, readJournal } from "../../src/runs/control/journal.ts";
import type { CommandArgs, JournalLine } from "../../src/runs/control/types.ts";
import { oneIn } from "../support/repetitions.ts";
import { tempDir } from "../support/temp-dir.ts";
import { contents, storeWith } from "./scenario.ts";

declare module "hookline" {
  interface CustomEvents {
    shakeRates: { by: number };
  }
}
defineEvent("shakeRates");

const STEPS = 64;
const loader = (samples: number, seed: number, batchSize: number): DataLoader =>
  new DataLoader(tinyData(samples, seed), { batchSize, shuffle: true });

interface Parts {
  readonly runDir: string;
  readonly store: CheckpointStore;
  readonly hooks: readonly Hook[];
}

function trainerOf({ runDir, store, hooks }: Parts): Trainer {
  const saving: Hook = { name: "saving", onStepEnd: (ctx) => ctx.requestSave("interval") };
  const shaking: Hook = {
    name: "shaking",
    onShakeRates: (ctx) => ctx.setLr((lr) => lr * ctx.payload.by),
  };
  return tinyTrainer({
    model: sequential(linear(3, 4), batchNorm(4), relu(), dropout(0.3), linear(4, 1)),
    optimizer: adamw({ lr: 0.02, weightDecay: 0.1 }),
    schedule: cosine({ warmup: 5 }),
    train: loader(20, 3, 4),
    eval: loader(8, 5, 8),
    evalEvery: "9 steps",
    steps: STEPS,
    seed: 7,
    maxRollbacks: 100,
    runDir,
    store,
    save: "sync",
    hooks: [ema({ decay: 0.9 }), shaking, saving, ...hooks],
  });
}

const isPaused = (step: number): boolean => step % 3 === 0;

/** What each verb asks at a step, as the journal has it. */
const VERBS: readonly [verb: string, ask: (step: number) => CommandArgs][] = [
  ["setLr", (step) => ({ rates: [0.001 * (1 + (step % 7))] })],
  ["setAccumulate", (step) => ({ n: 1 + (step % 3) })],
  ["setTrainable", (step) => ({ match: step % 2 ? ["4."] : ["0.", "1.", "4."] })],
  ["hook", (step) => ({ name: "ema", enabled: step % 4 > 1 })],
  ["save", (step) => ({ name: `mine-${step}` })],
  ["eval", () => ({})],
  ["rollback", (step) => ({ to: `step-${String(isPaused(step) ? step : step - 1).padStart(6, "0")}` })],
  ["shakeRates", (step) => ({ by: 1 + (step % 5) / 10 })],
];

/** A verb at every step, every third one during a pause; `shift` decides which verb comes first. */
const scriptOf = (shift: number): JournalLine[] =>
  Array.from({ length: STEPS - 3 }, (_, i): JournalLine => {
    const step = i + 2;
    const [verb, ask] = VERBS[(step + shift) % VERBS.length]!;
    return {
      v: 1,
      id: `command-${step}`,
      run: "script",
      part: 1,
      verb,
      args: {},
      by: "ada@lab3",
      via: "test",
      sentAt: 1,
      expires: 60,
      state: "applied",
      step,
      epoch: 0,
      time: 1,
      ask: ask(step),
      ...(isPaused(step) && { settled: true }),
    };
  });

interface Ended {
  readonly params: unknown;
  readonly metrics: unknown;
  readonly history: unknown;
  readonly steps: number;
}

async function play(parts: Parts, resume?: "auto"): Promise<Ended> {
  await using trainer = trainerOf(parts);
  const { metrics, history, steps } = await trainer.fit(resume && { resume });
  return { params: await trainer.stateDict(), metrics, history, steps };
}

const own = { own: ["shakeRates"] };

// In the soak, each verb at each step, and a resumed run from each.
test("a verb at each step: repeated from the seed, and resumed from steps on the way, with the same bits", async () => {
  for (const shift of oneIn(
    2,
    Array.from(VERBS, (_, i) => i),
  )) {
    const [store, runDir] = [memoryStore(), tempDir()];
    const script = scriptOf(shift);
    const expected = await play({ runDir, store, hooks: [control({ ...own, script })] });
    const journal = join(runDir, "control.jsonl");
    const done = appliedHistory(readJournal(journal).lines);
    expect(done.map(({ verb, step, settled }) => [verb, step, settled])).toEqual(
      script.map(({ verb, step, settled }) => [verb, step, settled]),
    );
    const again = { runDir: tempDir(), store: memoryStore(), hooks: [control({ ...own, script: journal })] };
    expect(await play(again), `shift ${shift}`).toEqual(expected);
    if (shift > 0) continue;
    const last = contents(await store.load());
    const saved = (await store.list()).filter((each) => each.step < STEPS);
    for (const { name, step } of oneIn(4, saved)) {
      const dir = tempDir();
      mkdirSync(dir, { recursive: true });
      copyFileSync(journal, join(dir, "control.jsonl"));
      const from = await storeWith(store, name);
      const where = `resumed from ${name} of step ${step}`;
      expect(await play({ runDir: dir, store: from, hooks: [control(own)] }, "auto"), where).toEqual(expected);
      expect(contents(await from.load()), where).toEqual(last);
    }
    const without = await play({ runDir: tempDir(), store: memoryStore(), hooks: [] });
    expect(without.params).not.toEqual(expected.params);
  }
});

test("commands through the inbox, some of them during a pause: repeated from the journal, with the same bits", async () => {
  const [store, runDir] = [memoryStore(), tempDir()];
  const sender: Hook = {
    name: "sender",
    async onStepBegin(ctx) {
      if (ctx.step === 10) await sendCommand(runDir, { verb: "setLr", args: { factor: 0.5 }, at: { step: 12 } });
      if (ctx.step === 20) await sendCommand(runDir, { verb: "pause", at: { step: 24 } });
      if (ctx.step === 40) await sendCommand(runDir, { verb: "rollback", at: { step: 44 } });
      if (ctx.step % 10 === 0) await new Promise((resolve) => void setTimeout(resolve, 30));
    },
    async onPause() {
      for (const verb of ["setLr", "save", "eval", "setAccumulate", "continue"])
        await sendCommand(runDir, {
          verb,
          args: verb === "setLr" ? { lr: 0.01 } : verb === "setAccumulate" ? { n: 2 } : {},
        });
    },
  };
  const expected = await play({ runDir, store, hooks: [control({ look: 5 }), sender] });
  const { commands } = await readControl(runDir);
  expect(commands.map(({ verb, state, step }) => `${verb} ${state} ${step}`).toReversed()).toEqual([
    "setLr applied 12",
    "pause applied 24",
    "setLr applied 24",
    "save applied 24",
    "eval applied 24",
    "setAccumulate applied 24",
    "continue applied 24",
    "rollback applied 44",
  ]);
  const script = join(runDir, "control.jsonl");
  const again = {
    runDir: tempDir(),
    store: memoryStore(),
    hooks: [control({ script }), { ...sender, onStepBegin: undefined, onPause: undefined } as Hook],
  };
  expect(await play(again)).toEqual(expected);
});

test("a branch from an older checkpoint repeats nothing, nor does replay: false", async () => {
  const [store, runDir] = [memoryStore(), tempDir()];
  await play({ runDir, store, hooks: [control({ ...own, script: scriptOf(0) })] });
  for (const replay of [true, false]) {
    const dir = tempDir();
    mkdirSync(dir, { recursive: true });
    copyFileSync(join(runDir, "control.jsonl"), join(dir, "control.jsonl"));
    const from = replay ? store : await storeWith(store, "step-000030");
    const resumed = await (async () => {
      await using trainer = trainerOf({ runDir: dir, store: from, hooks: [control({ ...own, replay })] });
      return await trainer.fit({ resume: "step-000030" });
    })();
    expect(resumed.interventions.filter(({ replayOf }) => replayOf !== undefined)).toEqual([]);
  }
});
