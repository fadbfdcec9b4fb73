// Checkpoints that hooks read: several at once, and when the run is over, without keeping the directory from others.
import { existsSync } from "node:fs";
import type { Checkpoints, Hook } from "hookline";
import { tinyTrainer } from "hookline/testing";
import { beforeEach, expect, test } from "vitest";
import { tempDir } from "../support/temp-dir.ts";

const save: Hook = {
  name: "save",
  onStepEnd: (ctx) => (ctx.step <= 2 ? ctx.requestSave("interval", { name: ctx.step === 1 ? "a" : "b" }) : undefined),
};

let runDir: string;
const make = (...hooks: Hook[]) => tinyTrainer({ steps: 2, runDir, save: "sync", hooks: [save, ...hooks] });
const isLocked = (): boolean => existsSync(`${runDir}/checkpoints/.lock`);

beforeEach(() => {
  runDir = tempDir();
});

/** Trains, and keeps the checkpoints as a hook sees them beyond the run. */
async function trained(...hooks: Hook[]) {
  let checkpoints: Checkpoints | undefined;
  const trainer = make({ name: "keeper", onTrainBegin: (ctx) => void (checkpoints = ctx.checkpoints) }, ...hooks);
  await trainer.fit();
  return { trainer, checkpoints: checkpoints!, [Symbol.asyncDispose]: () => trainer.close() };
}

test("two at once, before anything has opened the store", async () => {
  const found: unknown[] = [];
  const reader: Hook = {
    name: "reader",
    async onTrainBegin({ checkpoints }) {
      found.push(...(await Promise.all([checkpoints.weights("a"), checkpoints.weights("b")])));
    },
  };
  await using before = await trained();
  await using trainer = make(reader);
  await trainer.fit();
  const { weights } = before.checkpoints;
  expect(found).toEqual([await weights("a"), await weights("b")]);
});

test("after the run: it is not locked again, and another trainer may write", async () => {
  await using run = await trained();
  const { checkpoints } = run;
  const [a] = await Promise.all([checkpoints.weights("a"), checkpoints.read("b", "model.safetensors")]);
  expect(isLocked()).toBe(false);
  await using other = make();
  expect((await other.fit()).status).toBe("completed");
  expect(await checkpoints.weights("a"), "still").toEqual(a);
  await expect(checkpoints.weights("c")).rejects.toThrow("checkpoints/c");
});

test("after the run and before the next one, which saves as ever", async () => {
  const names: string[] = [];
  const tell: Hook = { name: "tell", onAfterSave: ({ saved }) => void names.push(saved.name) };
  await using run = await trained(tell);
  await run.checkpoints.weights("a");
  await run.trainer.fit({ restart: true });
  expect(names).toEqual(["a", "b", "a-2", "b-2"]);
});

test("after close() too", async () => {
  await using run = await trained();
  const a = await run.checkpoints.weights("a");
  await run.trainer.close();
  expect(await run.checkpoints.weights("a")).toEqual(a);
  expect(isLocked()).toBe(false);
});
