// Weights from a program into a file: the counterpart of readWeights.
import type { HostTensors } from "../core/model.ts";
import { checkOptions, is } from "../core/options.ts";
import { fromHostArrays } from "./formats/host-arrays.ts";
import { renameTensors, type RenameOptions } from "./formats/state-dict.ts";
import { NewWeightsFile, WRITE_CHECKS, type WriteOptions, type WrittenWeights } from "./write-weights.ts";

/** Options of `saveWeights`. */
export interface SaveWeightsOptions extends WriteOptions, Pick<RenameOptions, "rename"> {}

const CHECKS = { path: is.name, tensors: is.object, rename: is.or(is.object, is.function), ...WRITE_CHECKS };

/**
 * Writes tensors as safetensors, or as a state dict in a .pt file, as the name of the file ends.
 * @example await saveWeights("model.safetensors", await trainer.stateDict());
 */
export async function saveWeights(
  path: string,
  tensors: HostTensors,
  options: SaveWeightsOptions = {},
): Promise<WrittenWeights> {
  checkOptions("saveWeights", { path, tensors, ...options }, CHECKS, ["path", "tensors"]);
  const { rename, ...how } = options;
  const file = await NewWeightsFile.at("saveWeights", path, how);
  return file.write({ tensors: fromHostArrays(renameTensors(tensors, { rename })), from: "the tensors" });
}
