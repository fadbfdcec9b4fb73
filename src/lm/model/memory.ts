// How much memory training will take on the engine: an estimate from shapes, printed before anything is computed.
import { sizeOf } from "../../core/arrays.ts";
import { is } from "../../core/options.ts";
import type { FrozenBase } from "../../core/model.ts";
import type { Architecture } from "../config/architecture.ts";
import type { Adapter } from "./lora.ts";
import type { Naming } from "./parameters.ts";
import { matricesOf, parametersOf } from "./parameters.ts";

/** How it will be trained. */
export interface DescribeOptions {
  /** Rows of a batch (default 4). */
  readonly batchSize?: number;
  /** Tokens of a row (default 512, or the model's context if that is shorter). */
  readonly length?: number;
  /** The bytes that there are; default 4 GiB, which the engines native and wasm have. */
  readonly limit?: number;
  /** Are layers computed one after the other? Default true; the engine xla computes all in one program. */
  readonly layered?: boolean;
}

export const DESCRIBE_CHECKS = {
  batchSize: is.wholeFrom(1),
  length: is.wholeFrom(1),
  limit: is.positive,
  layered: is.boolean,
};

/** A model's sizes and what training takes, as text. */
export function describeModel(
  architecture: Architecture,
  naming: Naming,
  adapter: Adapter | undefined,
  base: FrozenBase | undefined,
  {
    batchSize = 4,
    length = Math.min(512, architecture.contextLength),
    limit = 2 ** 32,
    layered = true,
  }: DescribeOptions,
): string {
  const { family, layers, width, heads, keyValueHeads, vocabularySize, contextLength } = architecture;
  const all = [...parametersOf(architecture, naming).values()].reduce((sum, { shape }) => sum + sizeOf(shape), 0);
  const trained = adapter ? trainedCount(architecture, naming, adapter) : all;
  const plan = memoryPlan(architecture, trained, base, batchSize * length, length, layered);
  const total = Object.values(plan).reduce((sum, bytes) => sum + bytes, 0);
  const lines = [
    `${family}: ${layers.length} layers of ${width}, ${heads} heads${keyValueHeads === heads ? "" : ` (${keyValueHeads} of keys and values)`}, vocabulary ${count(vocabularySize)}, context ${count(contextLength)}`,
    `${count(all)} parameters, ${count(trained)} trained (${((100 * trained) / all).toPrecision(3)} %)`,
    `Training ${batchSize} × ${length} tokens ${layered ? "layer by layer" : "in one program"} takes about ${mebibytes(total)}:`,
    ...Object.entries(plan).map(([what, bytes]) => `  ${mebibytes(bytes).padStart(12)}  ${what}`),
  ];
  if (total > limit) lines.push(advice(limit, { adapter, base, batchSize, length }));
  return lines.join("\n");
}

function trainedCount(architecture: Architecture, naming: Naming, adapter: Adapter): number {
  const { matrices, whole, config } = adapter;
  const perRow = config.dora ? config.rank + 1 : config.rank;
  const parameters = parametersOf(architecture, naming);
  const pairs = [...matrices.values()].reduce(
    (sum, { inputs, outputs }) => sum + config.rank * inputs + perRow * outputs,
    0,
  );
  return pairs + whole.reduce((sum, name) => sum + sizeOf(parameters.get(name)!.shape), 0);
}

/** Rows of logits that the loss holds at a time. */
const CHUNK = 512;

/** Bytes by what they are for. Engines compute in float32. */
function memoryPlan(
  architecture: Architecture,
  trained: number,
  base: FrozenBase | undefined,
  tokens: number,
  length: number,
  layered: boolean,
): Readonly<Record<string, number>> {
  const { width, heads, layers, vocabularySize } = architecture;
  const frozen = [...(base?.tensors.values() ?? [])].reduce((sum, { shape }) => sum + 4 * sizeOf(shape), 0);
  // Inputs and outputs of every matrix of a layer, and twice as much on the way back; scores, their softmax and gradients.
  const features = matricesOf(architecture).reduce((sum, { inputs, outputs }) => sum + inputs + outputs, 2 * width);
  const scores = 3 * heads * length;
  return {
    ...(base && { "the frozen base": frozen }),
    "trained parameters, gradients and two slots of AdamW": 4 * 4 * trained,
    ...(layered && { "what is kept between the layers": 4 * layers.length * tokens * width }),
    ...(layered
      ? { "one layer, forward and backward": 4 * tokens * (2 * features + scores) }
      : { "all layers, forward and backward": 4 * tokens * layers.length * (features + scores) }),
    "the head and the loss": 4 * 2 * Math.min(CHUNK, tokens) * vocabularySize,
  };
}

function advice(
  limit: number,
  {
    adapter,
    base,
    batchSize,
    length,
  }: {
    readonly adapter: Adapter | undefined;
    readonly base: FrozenBase | undefined;
    readonly batchSize: number;
    readonly length: number;
  },
): string {
  const isPacked = [...(base?.tensors.keys() ?? [])].some((name) => /\.q[48]$/.test(name));
  const ways = [
    ...(adapter ? [] : ["an adapter (`lora`) in place of all parameters"]),
    ...(adapter && !isPacked ? ['a base in fewer bits (`base`: "int8" or "int4")'] : []),
    ...(batchSize > 1 ? [`a smaller batch, with \`accumulate: ${batchSize}\` for the same step`] : []),
    ...(length > 128 ? ["shorter rows (`length`)"] : []),
  ];
  return `That is more than the ${mebibytes(limit)} there are. What helps: ${ways.join("; ")}.`;
}

const mebibytes = (bytes: number): string => `${count(Math.ceil(bytes / 2 ** 20))} MiB`;

const count = (n: number): string => n.toLocaleString("en-US");
