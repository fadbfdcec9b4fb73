// A trainer of a golden checkpoint's model on the checkpoint's own ids, and its logits of these.
import { Trainer, type TrainerOptions } from "hookline";
import { DataLoader } from "hookline/data";
import { type LanguageModel, loadModel, type LoadModelOptions } from "hookline/lm";
import { crossEntropy } from "hookline/nn";
import { adamw } from "hookline/optim";
import type { HostArray } from "../../src/core/arrays.ts";
import { ENGINE } from "./engines.ts";
import { goldenFolder, type GoldenName, readGolden } from "./golden-files.ts";

export async function training(
  name: GoldenName,
  options: LoadModelOptions,
  from: string | LanguageModel = goldenFolder(name),
  steps = 2,
  more: Partial<TrainerOptions> = {},
) {
  const { ids, y } = await readGolden(name);
  const batchSize = ids.shape[0]!;
  const model = typeof from === "string" ? await loadModel(from, options) : from;
  const trainer = new Trainer({
    model,
    inputs: ({ x }) => ({ ids: x! }),
    loss: crossEntropy(),
    optimizer: adamw({ lr: 1e-2 }),
    train: new DataLoader({ x: ids, y }, { batchSize }),
    steps,
    engine: ENGINE,
    signals: false,
    ...more,
  });
  const logits = async (): Promise<HostArray> =>
    (await trainer.predict(new DataLoader({ x: ids }, { batchSize }))) as HostArray;
  return { model, trainer, ids, logits };
}
