// A language model to talk to or to save: a run of `finetune`, the folder of a model, or the folder of an adapter.
import { existsSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { chooseCheckpoint } from "../../checkpoint/weights/choose-checkpoint.ts";
import { readWeights } from "../../checkpoint/weights/read-weights.ts";
import { DataLoader } from "../../data/data-loader.ts";
import { buildExperiment } from "../../experiment/build/build-experiment.ts";
import { loadModel } from "../../lm/load/load-model.ts";
import { readJsonFile } from "../../lm/load/model-files.ts";
import { modelFiles } from "../../lm/load/model-source.ts";
import type { LanguageModel } from "../../lm/model/language-model.ts";
import { sgd } from "../../optim/sgd.ts";
import { CHECKPOINTS, FORMATS } from "../../runs/layout.ts";
import { Trainer } from "../../trainer/trainer.ts";
import { noDirectory, UsageError } from "../errors.ts";
import { shownPath, typed } from "../output.ts";
import { readRecord, recordedConfig } from "../train/run-directory.ts";

export interface OpenedModel {
  readonly model: LanguageModel;
  /** Has the trained parameters. */
  readonly trainer: Trainer;
  /** Where the weights are from. */
  readonly from: string;
}

export interface OpenOptions {
  /** `best`, `last`, or a name; of a run. */
  readonly checkpoint: string;
  readonly engine?: string | undefined;
}

export async function openModel(given: string, { checkpoint, engine }: OpenOptions): Promise<OpenedModel> {
  if (!existsSync(given)) throw noDirectory(given);
  if (!existsSync(join(given, FORMATS.experiment.file))) {
    const model = await modelIn(given);
    return { model, trainer: trainerOf(model, engine), from: shownPath(given) };
  }
  const options = await buildExperiment(await recordedConfig(given, readRecord(given), []));
  const model = options.model as LanguageModel;
  if (!("tokenizer" in model))
    throw new UsageError(
      `${given} is not the run of a language model. \`${typed(`predict ${given}`)}\` uses its model.`,
    );
  const chosen = await chooseCheckpoint(given, checkpoint);
  const from = join(given, CHECKPOINTS, chosen.checkpoint.name);
  const trainer = trainerOf(model, engine);
  await trainer.loadStateDict(await readWeights(from));
  return { model, trainer, from: shownPath(from) };
}

/** Nothing is trained with it, so that its optimizer needs no memory and its data is never read. */
const trainerOf = (model: LanguageModel, engine: string | undefined): Trainer =>
  new Trainer({
    model,
    train: new DataLoader({ x: new Int32Array(1) }, { batchSize: 1 }),
    optimizer: sgd({ lr: 0 }),
    signals: false,
    ...(engine !== undefined && { engine: engine as "auto" }),
  });

async function modelIn(folder: string): Promise<LanguageModel> {
  const adapter = join(folder, "adapter_config.json");
  if (!existsSync(adapter)) return loadModel(folder);
  const { base_model_name_or_path: named } = await readJsonFile(await modelFiles(folder), "adapter_config.json");
  if (typeof named !== "string" || named === "")
    throw new UsageError(
      `${adapter} does not name the model that the adapter is for. Write its folder into it, as \`base_model_name_or_path\`.`,
    );
  const base = [named, resolve(folder, named)].find((path) => isAbsolute(path) || existsSync(path));
  if (base === undefined || !existsSync(base))
    throw new UsageError(
      `The adapter in ${folder} is for ${named}, which is not there. \`${typed(`lm fetch ${named}`)}\` downloads a model of the hub; then write its folder into ${adapter}, as \`base_model_name_or_path\`.`,
    );
  return loadModel(base, { adapter: folder });
}
