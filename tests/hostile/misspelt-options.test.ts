// A misspelt option of any function that takes options is an error that names it, wherever the function is exported.
import { expect, test } from "vitest";
import { OptionError } from "hookline";
import { convertCheckpoint, readWeights, saveWeights } from "hookline/checkpoint";
import { Preprocessor, readChunks, readTable } from "hookline/data";
import * as lm from "hookline/lm";
import { createPredictHandler, exportModel, loadPredictor } from "hookline/predict";
import { listRuns, sendCommand, summarizeRun } from "hookline/runs";
import { XlaEngine } from "hookline/xla";

const odd = { evry: 1 } as object;
const model = lm.languageModel(
  lm.architectureOf({
    model_type: "llama",
    vocab_size: 8,
    hidden_size: 4,
    intermediate_size: 4,
    num_hidden_layers: 1,
    num_attention_heads: 1,
    max_position_embeddings: 8,
  }),
);
const examples = await lm.readExamples({ text: '{"ids":[1,2]}' }, model);
const writer = lm.generator(model);
const table = { text: "a\n1\n" };

const CALLS: Readonly<Record<string, () => unknown>> = {
  languageModel: () => lm.languageModel(model.architecture, odd),
  lora: () => lm.lora(odd),
  loadModel: () => lm.loadModel("nowhere", odd),
  readExamples: () => lm.readExamples({ text: '{"ids":[1]}' }, model, odd),
  generate: () => lm.generate(model, "a", odd)[Symbol.asyncIterator]().next(),
  generator: () => lm.generator(model, odd),
  createChatHandler: () => lm.createChatHandler(writer, odd),
  saveModel: () => lm.saveModel(model, "nowhere", odd),
  scoreChoices: () => lm.scoreChoices(model, [], odd),
  sft: () => lm.sft(model, examples, { batchSize: 1, ...odd }),
  dpo: () => lm.dpo(model, examples, { batchSize: 1, ...odd }),
  XlaEngine: () => new XlaEngine(odd),
  loadPredictor: () => loadPredictor("nowhere", odd),
  exportModel: () => exportModel("nowhere", "nowhere", odd),
  createPredictHandler: () => createPredictHandler({} as never, odd),
  readTable: () => readTable(table, odd),
  readChunks: () => readChunks(table, odd)[Symbol.asyncIterator]().next(),
  Preprocessor: () => new Preprocessor(odd as never),
  readWeights: () => readWeights("nowhere", odd),
  saveWeights: () => saveWeights("nowhere", {}, odd),
  convertCheckpoint: () => convertCheckpoint("nowhere", "nowhere", odd),
  listRuns: () => listRuns("nowhere", odd),
  summarizeRun: () => summarizeRun("nowhere", odd),
  sendCommand: () => sendCommand("nowhere", { verb: "pause", ...odd }),
};

test.each(Object.entries(CALLS))("%s", async (_, call) => {
  const outcome = await Promise.resolve()
    .then(call)
    .catch((error: unknown) => error);
  expect(outcome).toBeInstanceOf(OptionError);
  expect((outcome as Error).message).toContain("evry");
});
