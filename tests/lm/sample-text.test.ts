// sampleText: texts come when they should and where they should, and the training does not notice.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Hook, logger, Trainer } from "hookline";
import { DataLoader } from "hookline/data";
import { generate, sampleText } from "hookline/lm";
import { adam } from "hookline/optim";
import { ENGINE } from "./engines.ts";
import { textModel } from "./text-model.ts";

const ids = Int32Array.from({ length: 4 * 8 * 16 }, (_, i) => (i * i * 7) % 900);
const rows = (n: number) => ({
  x: { data: ids.subarray(0, n * 16), shape: [n, 16] },
  y: { data: ids.subarray(0, n * 16), shape: [n, 16] },
});

async function train(hooks: readonly Hook[], runDir?: string) {
  await using trainer = new Trainer({
    model: await textModel(),
    train: new DataLoader(rows(16), { batchSize: 4, shuffle: true }),
    eval: new DataLoader(rows(4), { batchSize: 4 }),
    optimizer: adam({ lr: 1e-2 }),
    epochs: 2,
    engine: ENGINE,
    signals: false,
    hooks,
    ...(runDir !== undefined && { runDir }),
  });
  await trainer.fit();
  return { state: await trainer.stateDict(), said: await generate(trainer, "Hello", { maxTokens: 6 }).text() };
}

test("after each evaluation, printed and logged, and no bit of the training is another", async () => {
  const runDir = mkdtempSync(join(tmpdir(), "sample-text-"));
  const lines: string[] = [];
  const print = (line: string): void => void lines.push(line);
  const hook = sampleText(["Hello", [{ role: "user", content: "Who are you?" }]], {
    maxTokens: 6,
    temperature: 1,
    print,
  });
  const { state } = await train([hook, logger("jsonl")], runDir);
  const { state: plain } = await train([]);
  expect(state).toEqual(plain);
  expect(lines.map((line) => line.replace(/ → .*/s, ""))).toEqual([
    "step 4: Hello",
    "step 4: Who are you?",
    "step 8: Hello",
    "step 8: Who are you?",
  ]);
  const logged = readFileSync(join(runDir, "metrics.jsonl"), "utf8");
  expect(logged).toContain("sample/1");
  expect(logged).toContain("sample/2");
  rmSync(runDir, { recursive: true });
});

test("at a cadence and at the end, with the parameters of the moment", async () => {
  const lines: string[] = [];
  const hook = sampleText(["Hello"], { every: 3, maxTokens: 6, print: (line) => void lines.push(line) });
  const { said } = await train([hook]);
  expect(lines.map((line) => line.replace(/:.*/s, ""))).toEqual(["step 3", "step 6", "step 8"]);
  expect(lines.at(-1)).toBe(`step 8: Hello → ${said}`);
});
