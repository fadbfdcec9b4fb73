// What fine-tuning will take, in words, and what to change where there is too little memory.
import { totalmem } from "node:os";
import type { LanguageModel } from "../../lm/model/language-model.ts";
import { memoryPlan, type MemoryPlan, type MemorySettings } from "../../lm/train/memory-plan.ts";
import { paint } from "../output.ts";

/** The memory of the engines native and wasm. */
const MOST_OF_WASM = 4 * 2 ** 30;

interface Settings {
  readonly batchSize: number;
  readonly length: number;
  readonly engine?: string | undefined;
  readonly base?: string | undefined;
  readonly full?: boolean | undefined;
}

const size = (bytes: number): string =>
  bytes >= 2 ** 30 ? `${(bytes / 2 ** 30).toFixed(1)} GiB` : `${Math.ceil(bytes / 2 ** 20)} MiB`;

export function describeMemory(model: LanguageModel, settings: Settings): string {
  const { batchSize, length } = settings;
  const layered = { batchSize, length, layered: true };
  const plan = memoryPlan(model, layered);
  const parts = [
    ...(plan.frozen > 0 ? [`frozen weights ${size(plan.frozen)}`] : []),
    `trained weights ${size(plan.trained)} and 3 × as much to train them`,
    `activations ${size(plan.activations)}`,
    `logits ${size(plan.logits)}`,
  ];
  const line = `memory: about ${size(plan.total)} (${parts.join(", ")})`;
  const limit = limitOf(settings.engine);
  if (plan.total <= limit) return line;
  const advice = adviceFor(model, plan, layered, settings, limit);
  return `${line}\n${paint(process.stderr, "yellow", "This may not fit")} into ${size(limit)}: ${advice}.`;
}

/** A GPU's own memory is reported by its engine. */
const limitOf = (engine: string | undefined): number =>
  engine === "xla" || engine === "webgpu" ? Infinity : Math.min(MOST_OF_WASM, totalmem());

function adviceFor(
  model: LanguageModel,
  { total, frozen, trained, training }: MemoryPlan,
  at: MemorySettings,
  { full = false, base }: Settings,
  limit: number,
): string {
  const advice: string[] = [];
  const halves = [at.batchSize, at.length].map((value) => Math.max(1, value >> 1));
  const fits = (changed: Partial<MemorySettings>): string =>
    memoryPlan(model, { ...at, ...changed }).total <= limit ? " is enough" : " helps";
  if (full) advice.push(`train an adapter (leave out --full), which saves ${size(trained + training)}`);
  if (!full && base !== "int4" && frozen > total / 4)
    advice.push(`--base ${base === "int8" ? "int4" : "int8"} makes the frozen weights smaller`);
  if (at.batchSize > 1)
    advice.push(
      `--batch-size ${halves[0]}${fits({ batchSize: halves[0]! })}, with --accumulate 2 for the same steps`,
    );
  if (at.length > 64) advice.push(`--length ${halves[1]}${fits({ length: halves[1]! })}`);
  return advice.join("; ");
}
