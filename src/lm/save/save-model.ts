// saveModel: what was trained becomes a folder that PEFT or transformers loads. It is read again and compared before it has
// its name.
import type { FloatType } from "../../checkpoint/formats/tensor-values.ts";
import { FLOAT_TYPES } from "../../checkpoint/formats/tensor-values.ts";
import { CheckpointError, OptionError } from "../../core/errors.ts";
import type { HostTensors } from "../../core/model.ts";
import { checkOptions, is, show } from "../../core/options.ts";
import { selectEngine } from "../../engines/select.ts";
import { initKey } from "../../nn/key.ts";
import type { Trainer } from "../../trainer/trainer.ts";
import { nodeFolder } from "../load/node-folder.ts";
import { openFolder } from "../load/open-folder.ts";
import { readAdapter } from "../load/read-adapter.ts";
import { type LanguageModel, makeLanguageModel, type ModelParts, partsOf } from "../model/language-model.ts";
import { writeAdapter } from "./adapter-files.ts";
import { mergedWeights, plainWeights } from "./merge.ts";
import { type CardOptions, modelCard } from "./model-card.ts";
import { writeModel } from "./model-files.ts";
import { distance, streamedLogits } from "./streamed-logits.ts";
import { newFolder, type NewFolder } from "./write-folder.ts";

/** Options of `saveModel`. */
export interface SaveModelOptions {
  /** Merges the adapter into the weights, so that transformers loads the folder alone. Default false: the adapter. */
  readonly merge?: boolean;
  /** The type of the saved numbers (default F32). */
  readonly dtype?: FloatType;
  /** The most bytes in one file of weights (default 2 GB); more are divided into several with an index. */
  readonly maxShard?: number;
  /** Replaces a model that is in the folder (default false). */
  readonly overwrite?: boolean;
  /** What README.md says of the training. */
  readonly card?: CardOptions;
}

/** A model that was saved. */
export interface SavedModel {
  readonly folder: string;
  /** Sizes in bytes. */
  readonly files: Readonly<Record<string, number>>;
  /**
   * How far logits of the saved files are from those of the model that was trained, relative to these: next to nothing, and
   * with a shorter `dtype` its rounding.
   */
  readonly difference: number;
}

const CHECKS = {
  merge: is.boolean,
  dtype: is.oneOf(...FLOAT_TYPES),
  maxShard: is.wholeFrom(1),
  overwrite: is.boolean,
  card: is.object,
};

const CARD_CHECKS = { baseModel: is.name, data: is.string, settings: is.object, results: is.object };

const MAX_SHARD = 2e9;
/** Rounding of float32, through all layers. */
const EXACT = 1e-3;
/** Rounding to 8 bits, as bfloat16 has, through all layers. */
const ROUNDED = 0.2;

/**
 * Saves a trained language model: its adapter as PEFT does, or the whole model as transformers does, with the tokenizer's
 * files and a model card. The folder is loaded again, and its logits compared, before it gets its name.
 * @example await saveModel(trainer, "out/adapter");
 * @example await saveModel(trainer, "out/merged", { merge: true, dtype: "BF16" });
 */
export async function saveModel(
  from: Trainer | LanguageModel,
  to: string,
  options: SaveModelOptions = {},
): Promise<SavedModel> {
  checkOptions("saveModel", { to, ...options }, { to: is.name, ...CHECKS }, ["to"]);
  checkOptions("saveModel: `card`", options.card ?? {}, CARD_CHECKS);
  const { model, parts, trained } = await trainedModel(from);
  const { merge = false, overwrite = false, dtype = "F32" } = options;
  if (merge && !parts.adapter)
    throw new OptionError("saveModel: the model has no adapter to merge: leave out `merge`.", { option: "merge" });
  const folder = await newFolder(to, model.source.path, overwrite);
  try {
    await writeFiles(folder, model, parts, trained, options);
    const difference = await check(folder, model, parts, trained, { merge, dtype });
    return { folder: to, files: await folder.finish(), difference };
  } catch (error) {
    await folder.discard();
    throw error;
  }
}

interface Trained {
  readonly model: LanguageModel;
  readonly parts: ModelParts;
  readonly trained: HostTensors;
}

async function trainedModel(from: Trainer | LanguageModel): Promise<Trained> {
  const own = partsOf(from);
  if (own) {
    const model = from as LanguageModel;
    return { model, parts: own, trained: model.init(initKey(0)) };
  }
  const model = (from as Partial<Trainer>).options?.model;
  const parts = model && partsOf(model);
  if (!parts)
    throw new OptionError(
      `saveModel: expected a Trainer with a model of loadModel or languageModel, got ${show(from)}.`,
    );
  return { model: model as LanguageModel, parts, trained: await (from as Trainer).stateDict() };
}

async function writeFiles(
  folder: NewFolder,
  model: LanguageModel,
  parts: ModelParts,
  trained: HostTensors,
  { merge = false, dtype = "F32", maxShard = MAX_SHARD, card = {} }: SaveModelOptions,
): Promise<void> {
  const { architecture } = model;
  const { naming, adapter } = parts;
  const baseModel = card.baseModel ?? model.source.path;
  if (adapter && !merge) await writeAdapter(folder, { architecture, naming, adapter }, trained, { dtype, baseModel });
  else await writeModel(folder, model, naming, mergedWeights(architecture, parts, trained), { dtype, maxShard });
  const kind = !adapter ? "full" : merge ? "merged" : "adapter";
  await folder.write(
    "README.md",
    modelCard({ ...card, ...(baseModel !== undefined && { baseModel }) }, kind, adapter?.config),
  );
}

/** Opens what was written, and compares its logits with those of what was trained. */
async function check(
  folder: NewFolder,
  model: LanguageModel,
  parts: ModelParts,
  trained: HostTensors,
  { merge, dtype }: { readonly merge: boolean; readonly dtype: FloatType },
): Promise<number> {
  const engine = await selectEngine("auto");
  try {
    const expected = await streamedLogits(engine, model, namesOf(parts, trained), plainWeights(parts, trained));
    const saved = await (parts.adapter && !merge ? openAdapter(folder, model, parts) : openModel(folder, model));
    const names = namesOf(saved.parts, saved.trained);
    const read = plainWeights(saved.parts, saved.trained);
    const difference = distance(await streamedLogits(engine, saved.model, names, read), expected);
    if (difference <= (dtype === "F32" ? EXACT : ROUNDED)) return difference;
    throw new CheckpointError(
      folder.path,
      `logits of the saved model differ from those of the trained one by ${difference.toPrecision(2)} of their size`,
      dtype === "F32"
        ? "Nothing was saved: please report this."
        : "Nothing was saved, since the model does not bear this rounding: save it as F32.",
    );
  } finally {
    await engine.close();
  }
}

const namesOf = ({ weights }: ModelParts, trained: HostTensors): readonly string[] => [
  ...new Set([...(weights?.keys() ?? []), ...Object.keys(trained)]),
];

/** The same base with the adapter that was written. */
async function openAdapter(
  { path }: NewFolder,
  model: LanguageModel,
  { naming, weights }: ModelParts,
): Promise<Trained> {
  const adapter = await readAdapter(await nodeFolder(path), model.architecture, naming);
  return { model, parts: { naming, adapter, weights }, trained: adapter.tensors! };
}

async function openModel({ path }: NewFolder, { generation, source }: LanguageModel): Promise<Trained> {
  const { architecture, naming, tensors: weights } = await openFolder(await nodeFolder(path));
  const parts = { naming, adapter: undefined, weights };
  const tokenizer = (): never => {
    throw new Error("a check reads no text");
  };
  const model = makeLanguageModel({ architecture, naming, generation, source, tokenizer, init: () => ({}) });
  return { model, parts, trained: {} };
}
