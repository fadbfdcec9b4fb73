import { expect, test, vi } from "vitest";
import { JaxEngine } from "../engines/jax/jax-engine.ts";
import { sgd } from "../optim/index.ts";
import { tinyTrainer } from "../testing/index.ts";

const broken = {
  ...sgd({ lr: 0.1 }),
  hyper: () => {
    throw new Error("no such group");
  },
};

test("what fails once there is an engine closes it, unless the user brought it", async () => {
  const close = vi.spyOn(JaxEngine.prototype, "close");
  await expect(tinyTrainer({ engine: "wasm", optimizer: broken }).fit()).rejects.toThrow("no such group");
  expect(close).toHaveBeenCalledTimes(1);
  const engine = await JaxEngine.create("wasm");
  await expect(tinyTrainer({ engine, optimizer: broken }).fit()).rejects.toThrow("no such group");
  expect(close).toHaveBeenCalledTimes(1);
  await engine.close();
});
