// dpo: the options of a trainer that teaches a language model which of two answers is preferred (direct preference
// optimization). What the reference says of the answers is computed once, before the first step.
import { numpy as np } from "@jax-js/jax";
import { OptionError } from "../../core/errors.ts";
import type {
  ArrayMetric,
  HostBatch,
  HostTensors,
  Loss,
  Model,
  Outputs,
  Tensor,
  TensorBatch,
} from "../../core/model.ts";
import { checkOptions, is } from "../../core/options.ts";
import type { Engine } from "../../engines/engine.ts";
import type { EngineName } from "../../engines/select.ts";
import type { LanguageModel } from "../model/language-model.ts";
import { rowLogProbabilities } from "../model/sequence-scores.ts";
import type { Examples } from "../text/examples/read-examples.ts";
import { type ScoredRow, scoreRows } from "./score-rows.ts";
import { loadersOf, ROWS_CHECKS, type SftOptions } from "./sft.ts";
import { WithReference } from "./with-reference.ts";

/** Options of `dpo`. */
export interface DpoOptions extends SftOptions {
  /** How far the model may go from the reference: the smaller, the further (default 0.1). */
  readonly beta?: number;
  /** What it is compared with. Default: the model as it begins, which for an adapter is the base without it. */
  readonly reference?: LanguageModel;
  /** What computes the reference's part. Default: the best engine that is there. */
  readonly engine?: EngineName | Engine;
}

const CHECKS = { ...ROWS_CHECKS, beta: is.positive, reference: is.object, engine: is.anything };

/** What a trainer takes from `dpo`. */
export interface DpoTraining {
  readonly model: LanguageModel;
  readonly loss: Loss;
  readonly metrics: Readonly<Record<string, ArrayMetric>>;
  readonly inputs: (batch: TensorBatch) => TensorBatch;
  readonly tokens: (batch: HostBatch) => number;
  readonly train: WithReference;
  readonly eval?: WithReference;
}

/**
 * Options of a trainer for preferences (`prompt`, `chosen`, `rejected`). `rewards/margin` and `rewards/accuracy` among its
 * metrics say by how much, and how often, the chosen answer has the larger reward.
 * @example new Trainer({ ...(await dpo(model, pairs, { batchSize: 2 })), optimizer: adamw({ lr: 5e-5 }), epochs: 1 })
 */
export async function dpo(model: LanguageModel, pairs: Examples, options: DpoOptions): Promise<DpoTraining> {
  checkOptions("dpo", options, CHECKS, ["batchSize"]);
  if (pairs.kind !== "preference")
    throw new OptionError(
      "dpo: the data has no preferences (`prompt`, `chosen`, `rejected`). `sft` trains on other kinds.",
    );
  const { beta = 0.1, reference = model, engine, ...rows } = options;
  const loaders = loadersOf(pairs, rows);
  const settings = { batchSize: rows.batchSize, engine };
  const judge = withoutAdapter(reference);
  // Pairs are numbered within each loader.
  const scored = async (loader: typeof loaders.train) =>
    new WithReference(loader, await referenceScores(judge, loader, settings));
  return {
    model,
    loss: dpoLoss(beta),
    metrics: { rewards: rewards(beta) },
    inputs: ({ x, rejectedX }) => ({ ids: np.concatenate([x!, rejectedX!], 0) }),
    tokens: ({ x, rejectedX }) => x!.data.length + rejectedX!.data.length,
    train: await scored(loaders.train),
    ...(loaders.eval && { eval: await scored(loaders.eval) }),
  };
}

type Judge = Pick<LanguageModel, "init" | "apply" | "base">;

/** An adapter whose second matrices are zero adds nothing. */
const withoutAdapter = (model: LanguageModel): Judge => ({
  init: (key) => {
    const all: HostTensors = { ...model.init(key) };
    for (const [name, { data, shape }] of Object.entries(all))
      if (name.endsWith(".lora_B.weight")) all[name] = { data: new Float32Array(data.length), shape };
    return all;
  },
  apply: (...given: Parameters<Model<TensorBatch>["apply"]>) => model.apply(...given),
  ...(model.base && { base: model.base }),
});

async function referenceScores(
  judge: Judge,
  loader: ReturnType<typeof loadersOf>["train"],
  settings: { readonly batchSize: number; readonly engine: DpoOptions["engine"] },
) {
  const pairs: (readonly [ScoredRow, ScoredRow])[] = [];
  loader.begin(0, 0);
  for (let batch = await loader.next(); batch !== undefined; batch = await loader.next()) {
    const time = batch.x!.shape[1]!;
    const rowOf = (field: string, i: number): Int32Array =>
      Int32Array.from(batch[field]!.data.subarray(i * time, (i + 1) * time));
    for (const [i, row] of [...batch.row!.data].entries())
      pairs[row] = [
        { x: rowOf("x", i), y: rowOf("y", i) },
        { x: rowOf("rejectedX", i), y: rowOf("rejectedY", i) },
      ];
  }
  const rows = pairs.flat();
  const { scores } = await scoreRows(judge, rows, settings);
  return {
    chosen: scores.filter((_, i) => i % 2 === 0),
    rejected: scores.filter((_, i) => i % 2 === 1),
  };
}

/** By how much more likely each answer has become than the reference finds it, times beta: [pairs] each. */
function rewardsOf(outputs: Outputs, batch: TensorBatch, beta: number): { chosen: Tensor; rejected: Tensor } {
  const pairs = batch.y!.shape[0]!;
  const scores = rowLogProbabilities(outputs, np.concatenate([batch.y!.ref, batch.rejectedY!.ref], 0));
  const reward = (part: Tensor, reference: Tensor): Tensor => part.sub(reference).mul(beta);
  return {
    chosen: reward(scores.ref.slice([0, pairs]), batch.referenceChosen!.ref),
    rejected: reward(scores.slice([pairs, 2 * pairs]), batch.referenceRejected!.ref),
  };
}

/** −log σ(margin), the mean over the pairs. */
function dpoLoss(beta: number): Loss {
  return (outputs, y, batch) => {
    const { chosen, rejected } = rewardsOf(outputs, { ...batch, y }, beta);
    const margin = chosen.sub(rejected);
    // log(1 + e⁻ˣ) without overflow.
    return np
      .log(np.exp(np.abs(margin.ref).neg()).add(1))
      .add(np.maximum(margin.neg(), 0))
      .mean();
  };
}

function rewards(beta: number): ArrayMetric {
  return {
    size: 5,
    values: ["chosen", "rejected", "margin", "accuracy"],
    update(outputs, batch) {
      const { chosen, rejected } = rewardsOf(outputs, batch, beta);
      const right = chosen.ref.greater(rejected.ref).astype(np.float32);
      const count = np.ones([1]).mul(chosen.shape[0]!);
      return {
        chosen: chosen.sum().reshape([1]),
        rejected: rejected.sum().reshape([1]),
        right: right.sum().reshape([1]),
        count,
      };
    },
    compute({ chosen, rejected, right, count }) {
      const mean = (sum: typeof chosen): number => sum!.data[0]! / count!.data[0]!;
      return {
        chosen: mean(chosen),
        rejected: mean(rejected),
        margin: mean(chosen) - mean(rejected),
        accuracy: mean(right),
      };
    },
  };
}
