// Hookline's side of lm.ts: for each line it reads, what that asks for, as JSON.
import { createInterface } from "node:readline";
import { numpy as np } from "hookline/jax";
import { architectureOf, generate, generator, languageModel } from "hookline/lm";
import { logitsOf } from "hookline/nn";
import type { ApplyContext, Tensor } from "../../src/core/model.ts";
import { NativeEngine } from "../../src/engines/native/native-engine.ts";
import { openParams } from "../../src/trainer/open-params.ts";
import type { LmTask } from "./asked-process.ts";
import { configOf, LORA_MODELS } from "./gpu-lora-models.ts";

const engine = new NativeEngine();
const model = languageModel(architectureOf(configOf(LORA_MODELS["135m"])), { generation: { eosTokenIds: [] } });
const writer = generator(model, { engine });
const inference: ApplyContext = { train: false, state: {}, loader: "bench", key: undefined as never };

async function perToken(tokens: number, prompt: number): Promise<number> {
  const ids = Array.from({ length: prompt }, (_, i) => i + 3);
  const begun = performance.now();
  const added = await generate(writer, ids, { maxTokens: tokens }).ids();
  return (performance.now() - begun) / added.length;
}

async function whole(length: number): Promise<number> {
  const { params, close } = await openParams(model, engine, console.error);
  const next = (all: Record<string, Tensor>, { ids }: Record<string, Tensor>) => {
    const logits = logitsOf(model.apply(all, { ids: ids! }, inference) as Tensor) as Tensor;
    return { next: np.argmax(logits, -1) };
  };
  const row = { ids: { data: new Int32Array(length).fill(5), shape: [1, length] } };
  (await params.compute(next, row)).free();
  const begun = performance.now();
  (await params.compute(next, row)).free();
  const took = performance.now() - begun;
  await close();
  return took;
}

const answer = (task: LmTask): Promise<number> =>
  "whole" in task ? whole(task.whole) : perToken(task.generate, task.prompt);

console.log(JSON.stringify({ version: "hookline" }));
for await (const line of createInterface(process.stdin))
  console.log(JSON.stringify(await answer(JSON.parse(line) as LmTask)));
await writer.close();
await engine.close();
