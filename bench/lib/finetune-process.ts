// Hookline's side of finetune.ts: trains one task, and for each line it reads, says what that asks for, as JSON.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { loadModel, lora, readExamples, sft } from "hookline/lm";
import { adamw } from "hookline/optim";
import { NativeEngine } from "../../src/engines/native/native-engine.ts";
import { putBase } from "../../src/trainer/base.ts";
import type { FinetuneAsk, FinetuneFacts, FinetuneTask } from "./asked-process.ts";
import { PacedRun } from "./paced-run.ts";
import { peakEngine } from "./peak-engine.ts";

const [folder, text] = process.argv.slice(2) as [string, string];
const { adapter, rows, length, recompute, base } = JSON.parse(text) as FinetuneTask;

const model = await loadModel(folder, adapter ? { adapter: lora({ rank: 16 }), base: base ?? "float32" } : {});
const temporary = mkdtempSync(join(tmpdir(), "hookline-bench-"));
const file = join(temporary, "ids.jsonl");
const line = (row: number): string =>
  JSON.stringify({ ids: Array.from({ length }, (_, i) => (row * length + i) % 49_000) });
writeFileSync(file, Array.from({ length: rows }, (_, row) => line(row)).join("\n"));
const data = await readExamples(file, model, { length });
rmSync(temporary, { recursive: true });

const engine = peakEngine();
const run = new PacedRun({
  ...sft(model, data, { batchSize: rows }),
  layered: recompute,
  optimizer: adamw({ lr: 1e-4 }),
  engine,
});

const facts = (): FinetuneFacts => ({
  peakRssMiB: process.resourceUsage().maxRSS / 1024,
  engineMiB: engine.peakBytes / 2 ** 20,
  compileSeconds: engine.compileSeconds,
});

/** On an engine of its own. */
async function baseMiB(): Promise<number> {
  const alone = new NativeEngine({ threads: 1 });
  await putBase(alone, model.base!);
  const { bytesInUse } = alone;
  await alone.close();
  return bytesInUse / 2 ** 20;
}

console.log(JSON.stringify({ version: "hookline" }));
for await (const asked of createInterface(process.stdin)) {
  const ask = JSON.parse(asked) as FinetuneAsk;
  const answer = "steps" in ask ? await run.take(ask.steps) : "base" in ask ? await baseMiB() : facts();
  console.log(JSON.stringify(answer));
}
process.exit(0);
