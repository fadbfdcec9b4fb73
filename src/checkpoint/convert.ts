// Weights from one kind of file into another: safetensors and .pt, with other names or in another type.
import { checkOptions, is } from "../core/options.ts";
import { renameTensors, type RenameOptions } from "./formats/state-dict.ts";
import { READ_CHECKS, weightsAt, type ReadWeightsOptions } from "./read-weights.ts";
import { NewWeightsFile, WRITE_CHECKS, type WriteOptions, type WrittenWeights } from "./write-weights.ts";

/** Options of `convertCheckpoint`. */
export interface ConvertOptions extends ReadWeightsOptions, RenameOptions, WriteOptions {}

const CHECKS = {
  from: is.name,
  to: is.name,
  ...READ_CHECKS,
  prefix: is.string,
  rename: is.or(is.object, is.function),
  strict: is.boolean,
  ...WRITE_CHECKS,
};

/**
 * Writes the weights of a file, a checkpoint or a run as safetensors or as a state dict in a .pt file.
 * @example await convertCheckpoint("runs/mnist", "mnist.safetensors", { dtype: "BF16" });
 */
export async function convertCheckpoint(
  from: string,
  to: string,
  options: ConvertOptions = {},
): Promise<WrittenWeights> {
  checkOptions("convertCheckpoint", { from, to, ...options }, CHECKS, ["from", "to"]);
  const { prefix, rename, strict, averaged, key, ...how } = options;
  const file = await NewWeightsFile.at("convertCheckpoint", to, how);
  const source = await weightsAt(from, { averaged, key });
  const tensors = renameTensors(source.tensors, { prefix, rename, strict }, source.file);
  return file.write({ tensors, metadata: source.metadata, from: source.file });
}
