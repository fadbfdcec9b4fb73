// The long run: a hundred thousand steps, in every way a step can run.
import { beforeAll, describe, expect, it } from "vitest";
import { CASES, growth, tenHooks } from "../support/growth.ts";
import { watchBuffers, type LiveBuffers } from "../support/live-buffers.ts";

const STEPS = 100_000;
const MB = 1024 * 1024;
let live: LiveBuffers;

beforeAll(async () => {
  live = await watchBuffers();
});

describe.each(Object.entries(CASES))("%s", (_name, options) => {
  it("ten hooks over a hundred thousand steps leave nothing behind", async () => {
    const { hooks = [], ...rest } = options();
    const { heap, buffers } = await growth({ ...rest, hooks: [...hooks, ...tenHooks()] }, live, STEPS);
    expect(buffers).toBe(0);
    expect(heap).toBeLessThan(MB);
  });
});
