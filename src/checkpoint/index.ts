// hookline/checkpoint: the files that models are kept in, and stores that a crash cannot tear.
// Reading never executes anything; a bad file is a CheckpointError.
import "../core/ambient.ts";
export { CheckpointError } from "../core/errors.ts";
export { convertCheckpoint, type ConvertOptions } from "./convert.ts";
export { openDirectoryStore, type DirectoryStoreOptions } from "./directory-store.ts";
export { NameTemplate } from "./file-name.ts";
export { fromHostArrays, rawValues, toHostArrays } from "./formats/host-arrays.ts";
export { decodePt, encodePt } from "./formats/pt.ts";
export { type PtValue } from "./formats/pt-value.ts";
export { decodeSafetensors, encodeSafetensors, safetensorsParts } from "./formats/safetensors.ts";
export { SafetensorsFile, type ByteSource } from "./formats/safetensors-file.ts";
export { ShardedSafetensors } from "./formats/safetensors-shards.ts";
export { type FileDType, type FileTensor, type FileTensors } from "./formats/tensor.ts";
export {
  decodeTorchCheckpoint,
  encodeTorchCheckpoint,
  type ReadTorchCheckpoint,
  type ReadTorchOptions,
  type TorchCheckpoint,
} from "./formats/torch-checkpoint.ts";
export {
  type TorchGroup,
  type TorchOptimizer,
  type TorchOptimizerState,
  type TorchValues,
} from "./formats/torch-optimizer.ts";
export { inspectCheckpoint, type InspectedCheckpoint, type InspectOptions } from "./inspect.ts";
export { describeCheckpoint } from "./inspect-describe.ts";
export { type TensorSummary } from "./inspect-tensors.ts";
export { MANIFEST } from "./manifest.ts";
export { manifestText } from "./manifest-text.ts";
export { memoryStore } from "./memory-store.ts";
export { openOpfsStore } from "./opfs-store.ts";
export { readWeights, type ReadWeightsOptions } from "./read-weights.ts";
export { retain, type KeepReason, type Retention, type RetentionEntry, type RetentionRules } from "./retention.ts";
export { saveWeights, type SaveWeightsOptions } from "./save-weights.ts";
export { sharedBytes } from "./shared-bytes.ts";
export {
  type BadCheckpoint,
  type CheckpointFiles,
  type CheckpointInfo,
  type CheckpointStore,
  type FileEntry,
  type FileParts,
  type LentFiles,
  type LoadedCheckpoint,
  type LoadOptions,
  type SavedCheckpoint,
  type SaveReason,
} from "./store.ts";
export { type WrittenWeights } from "./write-weights.ts";
