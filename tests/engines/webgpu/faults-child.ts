// What fails on WebGPU: no adapter, a program too large for the GPU, and a GPU that is lost in the middle of a training.
import { getWebGPUDevice, numpy as np } from "@jax-js/jax";
import type { Tensor } from "hookline";
import { tinyTrainer } from "hookline/testing";
import { selectEngine } from "../../../src/engines/select.ts";

const message = async (work: () => unknown): Promise<string> => {
  try {
    await work();
    return "nothing failed";
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
};

const report = (name: string, found: unknown): void => console.log(JSON.stringify([name, found]));
// jax-js prints what the GPU reports.
console.error = () => {};

const noAdapter = await message(() => selectEngine("webgpu"));
report("engine", noAdapter);
if (noAdapter === "nothing failed") {
  const engine = await selectEngine("webgpu");
  const one = engine.put({ data: Float32Array.of(1, 2), shape: [2] });
  const grow = engine.jit((x: Tensor) => np.broadcastTo(x.reshape([2, 1, 1]), [2, 50_000, 50_000]).mul(2));
  report("too large", await message(() => grow(one)));
  const double = engine.jit((x: Tensor) => x.mul(2));
  report("afterwards", Array.from(await engine.read(await double(one))));
  await using trainer = tinyTrainer({ engine: "webgpu", epochs: 2 });
  trainer.on("stepEnd", ({ step }) => void (step === 3 && getWebGPUDevice().destroy()));
  report("lost", await message(() => trainer.fit()));
  report("read after it", await message(() => engine.read(one)));
}
