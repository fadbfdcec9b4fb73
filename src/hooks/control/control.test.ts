// Live control of a training in this process: commands through the files of its run directory.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { control, defineEvent, type ControlOptions, type Hook, type RunResult, type Trainer } from "hookline";
import { type CommandRequest, readControl, sendCommand } from "hookline/runs";
import { DataLoader } from "hookline/data";
import { tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import { listCheckpoints } from "../../ui/server/checkpoints.ts";
import { readJournal } from "../../runs/control/journal.ts";
import type { JournalLine } from "../../runs/control/types.ts";

declare module "hookline" {
  interface CustomEvents {
    refreshData: { rows: number };
  }
}
defineEvent("refreshData");

const root = mkdtempSync(join(tmpdir(), "hookline-control-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;

interface Session {
  readonly dir: string;
  readonly trainer: Trainer;
  readonly result: Promise<RunResult>;
}

/** Sends the commands of each step while it runs, and holds the step until they are decided or expected to wait. */
function start(
  script: Readonly<Record<number, readonly CommandRequest[]>>,
  options: ControlOptions = {},
  more: TinyOptions = {},
): Session {
  const dir = join(root, `run-${count++}`);
  const sender: Hook = {
    name: "sender",
    async onStepBegin(ctx) {
      for (const request of script[ctx.step] ?? []) await sendCommand(dir, request);
      // Until control has seen them: it looks every few milliseconds.
      if (script[ctx.step]) await new Promise((resolve) => void setTimeout(resolve, 40));
    },
  };
  const trainer = tinyTrainer({
    runDir: dir,
    steps: 8,
    samples: 32,
    eval: new DataLoader(tinyData(8, 2), { batchSize: 8 }),
    evalEvery: "1000 steps",
    save: "sync",
    hooks: [control({ look: 5, ...options }), sender, ...(more.hooks ?? [])],
    ...Object.fromEntries(Object.entries(more).filter(([key]) => key !== "hooks")),
  });
  return { dir, trainer, result: trainer.fit() };
}

const decided = async (dir: string): Promise<string[]> => {
  const { commands } = await readControl(dir);
  return commands.toReversed().map(({ verb, state, step, reason = "" }) => `${verb} ${state} ${step} ${reason}`.trim());
};

test("each command becomes a verb at the end of its step, with who asked for it", async () => {
  const rates: number[] = [];
  const payloads: unknown[] = [];
  const watch: Hook = {
    name: "watch",
    onStepEnd: (ctx) => void rates.push(ctx.lr),
    onRefreshData: (ctx) => void payloads.push(ctx.payload),
  };
  const { dir, result } = start(
    {
      1: [{ verb: "setLr", args: { factor: 0.5 }, why: "plateau", by: "ada@lab3" }],
      2: [{ verb: "save", args: { name: "mine" } }, { verb: "eval" }],
      3: [
        { verb: "setAccumulate", args: { n: 2 } },
        { verb: "note", args: { text: "looks good" } },
      ],
      4: [{ verb: "hook", args: { name: "watch", enabled: false } }],
      5: [
        { verb: "refreshData", args: { rows: 3 } },
        { verb: "hook", args: { name: "watch", enabled: true } },
      ],
      6: [{ verb: "refreshData", args: { rows: 4 } }, { verb: "rollback" }],
      7: [{ verb: "stop", why: "enough" }],
    },
    { own: ["refreshData"] },
    { hooks: [watch], samples: 64 },
  );
  const { interventions, status, reason, requestedBy, steps, metrics } = await result;
  expect({ status, reason, requestedBy, steps }).toEqual({
    status: "stopped",
    reason: "enough",
    requestedBy: "control",
    steps: 7,
  });
  expect(interventions.map(({ step, what, by }) => [step, what, by === "ada@lab3"])).toEqual([
    [1, "setLr(0.05)", true],
    [2, "requestSave", false],
    [2, "requestEval", false],
    [3, "setAccumulate(2)", false],
    [3, "remark", false],
    [4, 'setHook("watch", false)', false],
    [5, 'setHook("watch", true)', false],
    [6, 'rollback("mine")', false],
    [7, "requestSave", false],
    [7, "stop", false],
  ]);
  expect(interventions[0]).toMatchObject({ who: "control", event: "command", why: "plateau" });
  expect(rates).toEqual([0.1, 0.05, 0.05, 0.05, 0.05, 0.05]);
  expect(payloads).toEqual([{ rows: 4 }]);
  expect(Object.keys(metrics)).toContain("val/loss");
  expect(readdirSync(join(dir, "control/inbox"))).toEqual([]);
  const { hello, listener } = await readControl(dir);
  expect([hello!.state, hello!.step, listener]).toEqual(["ended", 7, "dead"]);
});

test("what is refused has a line with the reason, and changes nothing", async () => {
  const late: CommandRequest = { verb: "pause", expires: 0.001 };
  const { dir, result } = start(
    {
      2: [
        late,
        { verb: "continue" },
        { verb: "rollback", args: { to: "step-9" } },
        { verb: "hook", args: { name: "control", enabled: false } },
        { verb: "setLr", args: { lr: 0.2, group: "head" } },
        { verb: "stop", why: "too early" },
      ],
      3: [{ verb: "eval", at: { step: 5 } }],
      4: [
        { verb: "pause", id: "the-same-one" },
        { verb: "continue", at: { step: 4 } },
      ],
      5: [{ verb: "pause", id: "the-same-one" }],
    },
    { maxPause: 0.05 },
    { minSteps: 8 },
  );
  const { status, interventions } = await result;
  expect(status).toBe("completed");
  expect(await decided(dir)).toEqual([
    "pause expired 2 It waited for more than 0.001 s.",
    "continue refused 2 The run is not paused.",
    "rollback refused 2 The run has no checkpoint yet.",
    "hook refused 2 `control` cannot be switched by a command, unless `allow` of control() has `hook:control`.",
    expect.stringMatching(/^setLr refused 2 There is no parameter group `head`/),
    "stop refused 2 before minSteps (8)",
    "pause applied 4",
    "continue refused 4 The run is not paused.",
    "eval applied 5",
  ]);
  expect(interventions.map(({ what, refused }) => [what, refused])).toEqual([
    ["requestSave", undefined],
    ["stop", "before minSteps (8)"],
    ["pause", undefined],
    ["continue", undefined],
    ["requestEval", undefined],
  ]);
});

test("a paused run stands still, and does what it is told: steps, rates, saves, then it continues", async () => {
  const seen: string[] = [];
  const held: string[][] = [];
  const began = performance.now();
  let [pausedAt, paused] = [0, 0];
  const watch: Hook = {
    name: "watch",
    after: "control",
    onStepEnd: (ctx) => void seen.push(`step ${ctx.step} ${ctx.lr}`),
    async onPause(ctx) {
      pausedAt = performance.now();
      seen.push(`pause ${ctx.step}`);
      const { hello } = await readControl(dir);
      expect(hello!.state).toBe("paused");
      const send = async (...requests: CommandRequest[]): Promise<void> => {
        for (const request of requests) await sendCommand(dir, request);
      };
      if (ctx.step === 3) setTimeout(() => void send({ verb: "step", args: { n: 2 } }), 30);
      else setTimeout(() => void send({ verb: "setLr", args: { lr: 0.3 } }, { verb: "save" }, { verb: "eval" }), 30);
      if (ctx.step === 5) setTimeout(() => void send({ verb: "continue" }), 120);
    },
    async onContinue(ctx) {
      paused += performance.now() - pausedAt;
      seen.push(`continue ${ctx.step}`);
      // What a hook holds is marked in the dashboard.
      if (ctx.step === 5) held.push(...(await listCheckpoints(dir)).map(({ name, heldBy }) => [name, ...heldBy]));
    },
    onAfterSave(ctx) {
      seen.push(`saved ${ctx.saved.name}`);
      ctx.checkpoints.hold([ctx.saved.name]);
    },
    onEvalEnd: (ctx) => void seen.push(`evaluated ${ctx.step}`),
  };
  const { dir, result } = start({ 3: [{ verb: "pause" }] }, {}, { hooks: [watch], steps: 6 });
  const { elapsed } = await result;
  expect(seen).toEqual([
    "step 1 0.1",
    "step 2 0.1",
    "step 3 0.1",
    "pause 3",
    "continue 3",
    "step 4 0.1",
    "step 5 0.1",
    "pause 5",
    "evaluated 5",
    "saved step-000005",
    "continue 5",
    "step 6 0.3",
  ]);
  expect(held).toEqual([["step-000005", "watch"]]);
  const lines = readJournal(join(dir, "control.jsonl")).lines as JournalLine[];
  const span = lines.at(-1)!.time - lines.find(({ verb }) => verb === "pause")!.time;
  expect(span).toBeGreaterThan(140);
  expect(elapsed).toBeGreaterThan(0);
  // The run's clock stands still.
  expect(1000 * elapsed).toBeLessThan(performance.now() - began - paused);
});

test("Trainer.continue ends a pause, and a second fit of the same trainer is controlled again", async () => {
  const { dir, trainer, result } = start(
    { 2: [{ verb: "pause" }], 10: [{ verb: "note", args: { text: "again" } }] },
    {},
    {
      hooks: [{ name: "outside", onPause: () => void setTimeout(() => trainer.continue(), 20) }],
    },
  );
  const { interventions } = await result;
  expect(interventions.map(({ who, what }) => `${who} ${what}`)).toEqual(["control pause", "trainer continue"]);
  await trainer.fit({ steps: 12 });
  expect(await decided(dir)).toEqual(["pause applied 2", "note applied 10"]);
  await trainer.close();
});

test("control needs a run directory, and knows its options", async () => {
  const warnings: string[] = [];
  await tinyTrainer({ hooks: [control()], warn: (message) => warnings.push(message) }).fit();
  expect(warnings).toEqual([expect.stringContaining("give the trainer `runDir")]);
  expect(() => control({ allow: ["pose"] })).toThrow("`allow` has `pose`");
  expect(() => control({ bounds: { lr: [2, 1] } })).toThrow("`bounds.lr` to be [min, max]");
  expect(() => control({ own: ["stop"] })).toThrow("`stop` is a command of hookline");
});
