// Hookline's side of gpu-lora.ts: LoRA of a language model on the xla engine in a process of its own, asked line by line for
// some steps: `gpu-lora-process.ts <folder> <model> <way>`.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Model } from "hookline";
import { loadModel, lora, readExamples, sft, type LanguageModel } from "hookline/lm";
import { adamw } from "hookline/optim";
import { XlaEngine } from "hookline/xla";
import { putBase } from "../../src/trainer/base.ts";
import { LORA_MODELS, type LoraModelName } from "./gpu-lora-models.ts";
import { bareTake, type GpuAsk, trainerTake } from "./gpu-takes.ts";

/**
 * The program alone; by a trainer on rows of one text each; on packed rows, which the model keeps apart; and by a trainer
 * layer by layer, as it is without the option `layered: false`.
 */
export type LoraWay = "bare" | "trainer" | "packed" | "layered";

const BATCHES = 8;

const [folder, name, way] = process.argv.slice(2) as [string, LoraModelName, LoraWay];
const { rows, length, config } = LORA_MODELS[name];
const engine = new XlaEngine({ precision: "bf16", deterministic: false });
const model = await loadModel(folder, { adapter: lora({ rank: 16 }), base: "bf16" });

/** Packed rows have two texts each. */
async function examples() {
  const temporary = mkdtempSync(join(tmpdir(), "hookline-bench-"));
  const file = join(temporary, "ids.jsonl");
  const size = way === "packed" ? length / 2 : length;
  const line = (row: number): string =>
    JSON.stringify({
      ids: Array.from({ length: size }, (_, i) => (((row * size + i) * 2_654_435_761) >>> 7) % config.vocab_size),
    });
  const count = (BATCHES * rows * length) / size;
  writeFileSync(file, Array.from({ length: count }, (_, row) => line(row)).join("\n"));
  const read = await readExamples(file, model, { length, pack: way === "packed" });
  rmSync(temporary, { recursive: true });
  return read;
}

/** A model of ids alone. */
const ofIds = (of: LanguageModel): Model => ({
  init: (key) => of.init(key),
  apply: (params, ids, ctx) => of.apply(params, { ids }, ctx),
});

const training = sft(model, await examples(), { batchSize: rows });
const optimizer = adamw({ lr: 1e-4 });
const take =
  way === "bare"
    ? await bareTake(
        engine,
        { model: ofIds(model), loss: training.loss, optimizer, train: training.train },
        await putBase(engine, model.base!),
      )
    : trainerTake(engine, { ...training, optimizer, layered: way === "layered" });

console.log(JSON.stringify({ version: engine.device }));
for await (const line of createInterface(process.stdin)) {
  console.log(JSON.stringify(await take((JSON.parse(line) as GpuAsk).steps)));
}
process.exit(0);
