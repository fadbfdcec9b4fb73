// Reads PyTorch's full checkpoints and writes them again: npx tsx tests/interop/optimizer-write.ts FOLDER
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { convertCheckpoint } from "../../src/checkpoint/weights/write-weights.ts";
import { decodePt } from "../../src/checkpoint/formats/torch/pt.ts";
import { decodeTorchCheckpoint, encodeTorchCheckpoint } from "../../src/checkpoint/formats/torch/torch-checkpoint.ts";
import { adam, adamw, rmsprop, sgd } from "../../src/optim/index.ts";

/** How PyTorch lays out the state of each optimizer. */
const LAYOUTS = Object.fromEntries([adam(), adamw(), rmsprop(), sgd()].map(({ name, torch }) => [name, torch!]));

const params = [0, 2, 4].flatMap((layer) => [`${layer}.weight`, `${layer}.bias`]);
const groups = ["weight", "bias"].map((kind) => params.filter((name) => name.endsWith(kind)));

/** Everything that optimizer-torch.py checks. */
export async function writeBack(folder: string): Promise<void> {
  const [ours, theirs] = [join(folder, "ours"), join(folder, "theirs")];
  mkdirSync(ours, { recursive: true });
  for (const file of readdirSync(theirs).filter((name) => name !== "halves.pt")) {
    const kind = /^[a-z]+/.exec(file)![0];
    const paramNames = file.includes("groups") ? groups : [params];
    const read = decodeTorchCheckpoint(decodePt(readFileSync(join(theirs, file)), file), file, { paramNames });
    const [optimizer] = read.optimizers;
    const written = encodeTorchCheckpoint({
      model: read.model,
      optimizers: [{ ...optimizer!, kind, layout: LAYOUTS[kind]! }],
      step: read.step!,
      epoch: read.epoch!,
    });
    writeFileSync(join(ours, file), written);
  }
  for (const dtype of ["F16", "BF16"] as const) {
    const other = dtype === "F16" ? "BF16" : "F16";
    const rename = (name: string): string | undefined => (name === other ? undefined : name);
    await convertCheckpoint(join(theirs, "halves.pt"), join(ours, `${dtype}.pt`), { dtype, rename, overwrite: true });
  }
}

const [, script, folder] = process.argv;
if (script?.endsWith("optimizer-write.ts") && folder) await writeBack(folder);
