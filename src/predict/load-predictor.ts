// From the files of a model to a predictor: a run's directory, a checkpoint, or an exported folder on a disk, at a URL or
// in a browser's own files.
import { CheckpointError } from "../core/errors.ts";
import type { HostArray } from "../core/arrays.ts";
import type { HostTensors, Model } from "../core/model.ts";
import { checkOptions, is } from "../core/options.ts";
import { Preprocessor } from "../data/preprocess/preprocessor.ts";
import type { Engine } from "../engines/engine.ts";
import { checkEngine, type EngineName, selectEngine } from "../engines/select.ts";
import { matchTensors } from "../checkpoint/formats/state-dict.ts";
import { programModel } from "../export/interpret.ts";
import type { SavedModel } from "../export/saved-model.ts";
import { initKey } from "../nn/key.ts";
import { checkBatchSizes, DEFAULT_BATCH_SIZES } from "./batch-sizes.ts";
import type { ModelInputs, TrainedModel } from "./forward-pass.ts";
import { makePredictor } from "./predictor.ts";
import { readModel, type LoadProgress, type PredictorSource } from "./model-source.ts";
import { TableCodec } from "./table-codec.ts";
import { TensorCodec } from "./tensor-codec.ts";
import type { Prediction, Predictor } from "./types.ts";

/** Options of `loadPredictor`. */
export interface LoadPredictorOptions {
  /** Of a run: `best` (the default) where a monitor says which that is, `last`, or the name of a checkpoint. */
  readonly checkpoint?: string;
  /** Which model, of a run with several. */
  readonly name?: string | undefined;
  /** Default `auto`: native in Node, WebGPU in a browser, where they are available, otherwise wasm. */
  readonly engine?: EngineName | Engine;
  /** The batch sizes that are compiled; batches are padded to the next one. Default: powers of two up to 256. */
  readonly batchSizes?: readonly number[];
  /** Milliseconds that a row waits for others to form a batch. Default 0: it never waits longer than the batch before it. */
  readonly deadline?: number;
  /** The model's code, for a run without a captured program. */
  readonly model?: Model<never>;
  /** With `model`: what it is applied to. Default: the field `x`, or all fields if there is none. */
  readonly inputs?: ModelInputs;
  /** Called while a folder is fetched. */
  readonly onProgress?: (progress: LoadProgress) => void;
}

const OWNER = "loadPredictor";

const CHECKS = {
  checkpoint: is.name,
  name: is.name,
  engine: is.anything,
  batchSizes: is.array,
  deadline: is.nonNegative,
  model: is.object,
  inputs: is.function,
  onProgress: is.function,
};

/**
 * Loads a trained model, as a function of rows. The type argument names its outputs; it is not checked.
 * @example
 * await using predict = await loadPredictor("runs/churn");
 * const { churn, probabilities } = await predict({ age: 41, plan: "basic" });
 */
export async function loadPredictor<Output extends object = Prediction>(
  from: PredictorSource,
  options: LoadPredictorOptions = {},
): Promise<Predictor<Output>> {
  checkOptions(OWNER, options, CHECKS);
  const { engine = "auto", deadline = 0, checkpoint, name, onProgress } = options;
  checkEngine(engine);
  const batchSizes = checkBatchSizes(OWNER, options.batchSizes ?? DEFAULT_BATCH_SIZES);
  const saved = await readModel(from, { checkpoint, name, onProgress });
  const trained = trainedModel(saved, options);
  const parts = {
    trained,
    batchSizes,
    deadline,
    source: saved.from,
    metrics: saved.metrics ?? {},
    engine: await selectEngine(engine),
    ownsEngine: typeof engine === "string",
  };
  const tensors = new TensorCodec(saved.signature?.inputs, saved.signature?.outputs);
  const predict =
    saved.preprocessor === undefined
      ? makePredictor({ ...parts, codec: tensors })
      : makePredictor({ ...parts, codec: new TableCodec(Preprocessor.fromJSON(saved.preprocessor), tensors) });
  return predict as Predictor<object> as Predictor<Output>;
}

/** The model of the program that was saved, or the user's own, with the saved weights. */
function trainedModel({ program, reason, weights, from }: SavedModel, options: LoadPredictorOptions): TrainedModel {
  const model = options.model ?? (program && programModel(program));
  if (!model)
    throw new CheckpointError(
      from,
      `it has no captured program${reason === undefined ? "" : `: ${reason}`}`,
      "Give the model's code: loadPredictor(path, { model }).",
    );
  const [params, state] = [model.init(initKey(0)), model.initState?.() ?? {}];
  const { tensors } = matchTensors<HostArray>(weights, { ...params, ...state }, {}, from);
  const of = (names: object): HostTensors =>
    Object.fromEntries(Object.keys(names).map((each) => [each, tensors[each]!]));
  return { model, params: of(params), state: of(state), inputs: options.inputs ?? ((batch) => batch.x ?? batch) };
}
