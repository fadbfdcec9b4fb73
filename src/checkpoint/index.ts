// hookline/checkpoint: the files that models are kept in. Reading never executes anything; a bad file is a CheckpointError.
export { CheckpointError } from "../core/errors.ts";
export { fromHostArrays, rawValues, toHostArrays } from "./formats/host-arrays.ts";
export { decodePt, encodePt, ptParts } from "./formats/pt.ts";
export { type PtValue } from "./formats/pt-value.ts";
export { decodeSafetensors, encodeSafetensors, safetensorsParts } from "./formats/safetensors.ts";
export { SafetensorsFile, type ByteSource } from "./formats/safetensors-file.ts";
export { parseShardIndex, ShardedSafetensors } from "./formats/safetensors-shards.ts";
export { matchTensors, renameTensors, stateDictIn } from "./formats/state-dict.ts";
export { type FileDType, type FileTensor, type FileTensors } from "./formats/tensor.ts";
