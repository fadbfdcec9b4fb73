// What hooks do with tensors frees what it needed on the way, also when it fails.
import { beforeEach, expect, it, vi } from "vitest";
import { JaxEngine } from "../../engines/jax/jax-engine.ts";
import type { Buffers, DeviceState } from "../device-state.ts";
import { GradsView } from "./grads-view.ts";
import { HookTensors } from "./hook-tensors.ts";
import { ProgramCache } from "../programs/run.ts";

let engine: JaxEngine;
let buffers: Buffers;
const state = { withBase: (params: Buffers) => params } as DeviceState;
/** What was put on the engine since the test began, and not freed. */
const held = new Set<unknown>();

beforeEach(async () => {
  engine = await JaxEngine.create("wasm");
  buffers = { w: engine.put({ data: Float32Array.of(1, 2), shape: [2] }) };
  held.clear();
  const { put, free } = engine;
  vi.spyOn(engine, "put").mockImplementation((host) => {
    const buffer = put.call(engine, host);
    held.add(buffer);
    return buffer;
  });
  vi.spyOn(engine, "free").mockImplementation((buffer) => {
    free.call(engine, buffer);
    held.delete(buffer);
  });
});

it("ctx.params.compute, when the function fails", async () => {
  const tensors = new HookTensors(engine, state, () => ({ params: buffers, state: {} }));
  const failing = (): never => {
    throw new Error("as planned");
  };
  await expect(tensors.compute(failing, 1, 2)).rejects.toThrow("as planned");
  expect(held.size).toBe(0);
});

it("ctx.params.compute, when it is given what is no tensor, or one that is gone", async () => {
  const tensors = new HookTensors(engine, state, () => ({ params: buffers, state: {} }));
  const gone = tensors.snapshot();
  gone.free();
  await expect(tensors.compute((params) => params, 1, "2" as never)).rejects.toThrow("takes tensors of this trainer");
  await expect(tensors.compute((params) => params, 1, gone)).rejects.toThrow("freed before this use");
  expect(held.size).toBe(0);
});

it("ctx.grads.scale, when the gradients are used already or gone", async () => {
  const window = {
    open: true,
    get: () => buffers,
    set(grads: Buffers): void {
      engine.free(grads.w!);
      throw new Error("used already");
    },
  };
  const grads = new GradsView(engine, new ProgramCache(engine), window, () => undefined);
  await expect(grads.scale(2)).rejects.toThrow("used already");
  expect(held.size).toBe(0);
  window.open = false;
  await expect(grads.scale(2)).rejects.toThrow("These gradients are gone");
  expect(held.size).toBe(0);
});
