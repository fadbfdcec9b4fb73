// The protocol between a worker and the controller, over a channel that loses, repeats and reorders.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { TrialHost, TrialJob } from "../runner.ts";
import { Attempts, Conversation, type DownMessage, type UpMessage } from "./exactly-once.ts";

const job: TrialJob = {
  number: 3,
  params: {},
  seed: 0,
  attempt: 1,
  runDir: undefined,
  resume: undefined,
  stash: {},
  objectives: ["loss"],
};
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

interface Applied {
  readonly steps: number[];
  readonly checkpoints: string[];
}

/** A study that notes what it is told. */
function hostOf({ steps, checkpoints }: Applied): TrialHost {
  return {
    signal: new AbortController().signal,
    async report(step) {
      await turn();
      steps.push(step);
      return step === 6 ? { kind: "prune", reason: "enough" } : { kind: "continue" };
    },
    async checkpoint(path) {
      checkpoints.push(path);
    },
  };
}

/** What becomes of each message on its way: lost, passed on, twice, or held back for a while. */
type Fate = "lost" | "once" | "twice" | "late";

class BadChannel<T> {
  readonly #deliver: (message: T) => void;
  readonly #fates: () => Fate;
  #late: T[] = [];

  constructor(fates: () => Fate, deliver: (message: T) => void) {
    this.#fates = fates;
    this.#deliver = deliver;
  }

  send(message: T): void {
    const fate = this.#fates();
    if (fate === "late") this.#late.push(message);
    else for (let i = 0; i < { lost: 0, once: 1, twice: 2 }[fate]; i++) setImmediate(() => this.#deliver(message));
  }

  deliverLate(): void {
    for (const message of this.#late.splice(0)) this.#deliver(message);
  }
}

test("every message is applied once and in order, whatever the channel does", async () => {
  const fates = fc.infiniteStream(fc.constantFrom<Fate>("lost", "once", "once", "twice", "late"));
  await fc.assert(
    fc.asyncProperty(fates, async (stream) => {
      const next = (): Fate => stream.next().value;
      const applied: Applied = { steps: [], checkpoints: [] };
      const down = new BadChannel<DownMessage>(next, (message) => conversation.receive(message));
      const attempts = new Attempts("run", (_, message) => down.send(message));
      const up = new BadChannel<UpMessage>(next, (message) => attempts.receive(message));
      const ended = attempts.begin(job, hostOf(applied), () => undefined);
      const conversation = new Conversation({ trial: 3, attempt: 1 }, (message) =>
        up.send({ run: "run", worker: "w", ...message }),
      );
      const trial = (async () => {
        await conversation.say({ kind: "take", where: "here" });
        const verdicts: (string | undefined)[] = [];
        for (let step = 1; step <= 6; step++) {
          // Two at once: a trial need not wait for one before it says the next.
          const both = await Promise.all([
            conversation.say({ kind: "report", step, values: { loss: step }, stash: {} }),
            conversation.say({ kind: "checkpoint", path: `at-${step}`, stash: {} }),
          ]);
          verdicts.push(both[0]?.kind);
        }
        const outcome = { result: { loss: 1 }, stash: {}, interrupted: false };
        await conversation.say({ kind: "returned", outcome });
        return verdicts;
      })();
      const over = trial.then(() => true);
      while (!(await Promise.race([over, turn()]))) {
        conversation.repeat(true);
        up.deliverLate();
        down.deliverLate();
      }
      expect(await trial).toEqual([...Array<string>(5).fill("continue"), "prune"]);
      expect(await ended).toMatchObject({ result: { loss: 1 } });
      expect(applied.steps).toEqual([1, 2, 3, 4, 5, 6]);
      expect(applied.checkpoints).toEqual([1, 2, 3, 4, 5, 6].map((step) => `at-${step}`));
    }),
    { numRuns: 200 },
  );
});

test("an attempt has one worker; another one hears that it is gone, and what it says does not count", async () => {
  const told: [worker: string, kind: string][] = [];
  const attempts = new Attempts("run", (worker, { kind }) => void told.push([worker, kind]));
  const applied: Applied = { steps: [], checkpoints: [] };
  const ended = attempts.begin(job, hostOf(applied), () => undefined);
  const say = async (worker: string, seq: number, said: UpMessage["said"], attempt = 1): Promise<void> => {
    attempts.receive({ run: "run", worker, trial: 3, attempt, seq, open: seq, said });
    await turn();
    await turn();
  };
  await say("a", 0, { kind: "take", where: "a" });
  await say("b", 0, { kind: "take", where: "b" });
  await say("b", 1, { kind: "report", step: 1, values: {}, stash: {} });
  await say("a", 0, { kind: "take", where: "a" }, 0);
  expect(told).toEqual([
    ["a", "answer"],
    ["b", "gone"],
    ["b", "gone"],
    ["a", "gone"],
  ]);
  attempts.lose(attempts.all[0]!, "it was lost");
  await expect(ended).rejects.toThrow("it was lost");
  await say("a", 1, { kind: "returned", outcome: { result: { loss: 1 }, stash: {}, interrupted: false } });
  expect(told.at(-1)).toEqual(["a", "gone"]);
  expect(applied.steps).toEqual([]);
});
