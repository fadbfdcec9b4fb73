// hookline/checkpoint: files of weights, and stores of checkpoints that survive crashes. Reading never runs code from a
// file; a bad file is a CheckpointError.
import "../core/ambient.ts";
export { CheckpointError } from "../core/errors.ts";
export { WEIGHT_FORMATS, type WeightsFormatName } from "../core/saving.ts";
export {
  type ConvertOptions,
  type SaveWeightsOptions,
  type WrittenWeights,
  convertCheckpoint,
  saveWeights,
} from "./weights/write-weights.ts";
export { openDirectoryStore, type DirectoryStoreOptions } from "./stores/directory-store.ts";
export { NameTemplate } from "./name-template.ts";
export { fromHostArrays, rawValues, toHostArrays } from "./formats/tensor-values.ts";
export { decodePt, encodePt } from "./formats/torch/pt.ts";
export { decodeSafetensors, encodeSafetensors, SafetensorsFile, safetensorsParts } from "./formats/safetensors.ts";
export { ShardedSafetensors } from "./formats/shards.ts";
export { type FileDType, type FileTensor, type FileTensors, type ByteSource } from "./formats/tensor.ts";
export {
  decodeTorchCheckpoint,
  encodeTorchCheckpoint,
  type ReadTorchCheckpoint,
  type ReadTorchOptions,
  type TorchCheckpoint,
} from "./formats/torch/torch-checkpoint.ts";
export {
  type TorchGroup,
  type TorchOptimizer,
  type TorchOptimizerState,
  type TorchValues,
} from "./formats/torch/torch-optimizer.ts";
export {
  type InspectOptions,
  type InspectedCheckpoint,
  describeCheckpoint,
  inspectCheckpoint,
} from "./weights/inspect.ts";
export { MANIFEST, manifestText } from "./manifest.ts";
export { memoryStore } from "./stores/memory-store.ts";
export { openOpfsStore } from "./stores/opfs-store.ts";
export { readWeights, type ReadWeightsOptions } from "./weights/read-weights.ts";
export { retain, type KeepReason, type Retention, type RetentionEntry, type RetentionRules } from "./retention.ts";
export {
  type BadCheckpoint,
  type CheckpointFiles,
  type CheckpointInfo,
  type CheckpointStore,
  type FileEntry,
  type FileParts,
  type LentFiles,
  type LoadOptions,
  type LoadedCheckpoint,
  type SaveReason,
  type SavedCheckpoint,
  sharedBytes,
} from "./store.ts";
export type { PtValue } from "./formats/torch/pickle-writer.ts";
export type { TensorSummary } from "./formats/weights-formats.ts";
