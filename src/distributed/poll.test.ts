import { describe, expect, it } from "vitest";
import { wait, type Wait } from "./poll.ts";

const waiting = (given: Partial<Wait>): Wait => ({
  done: () => true,
  limit: 10_000,
  grace: 0,
  long: () => undefined,
  overdue: () => new Error("too late"),
  ...given,
});

describe("wait", () => {
  it("returns at once, without a promise, when what it waits for comes soon", () => {
    let asked = 0;
    expect(wait(waiting({ done: () => ++asked === 20 }))).toBeUndefined();
    expect(asked).toBe(20);
  });

  it("lets timers run when it takes longer", async () => {
    let ticks = 0;
    const timer = setInterval(() => ticks++, 5);
    const waited = wait(waiting({ done: () => ticks > 3, limit: 100_000 }));
    expect(waited).toBeInstanceOf(Promise);
    await waited;
    clearInterval(timer);
  });

  it("says once that it takes long, and gives up after the limit and the grace", async () => {
    const said: string[] = [];
    const began = performance.now();
    const long = (): void => void said.push("long");
    await expect(wait(waiting({ done: () => false, limit: 100, grace: 100, long }))).rejects.toThrow("too late");
    expect(performance.now() - began).toBeGreaterThanOrEqual(200);
    expect(said).toEqual(["long"]);
  });

  it("passes on what goes wrong while it asks, at once and later", async () => {
    let isBroken = true;
    const done = (): boolean => {
      if (isBroken) throw new Error("broken");
      return false;
    };
    expect(() => wait(waiting({ done }))).toThrow("broken");
    isBroken = false;
    const waited = wait(waiting({ done }));
    isBroken = true;
    await expect(waited).rejects.toThrow("broken");
  });
});
