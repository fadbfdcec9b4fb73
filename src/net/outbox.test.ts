// The queue behind notices: bounded, in order, tries again where it makes sense, and ends on time.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FLUSH_MS, Outbox } from "./outbox.ts";
import { SendError } from "./retry.ts";

beforeEach(() => {
  vi.useFakeTimers();
  // Waits as long as they can be.
  vi.spyOn(Math, "random").mockReturnValue(1);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Hangs until it is aborted. */
const hang = (_item: string, signal: AbortSignal): Promise<void> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));

const make = (send: (item: string, signal: AbortSignal) => Promise<void>, limit = 3, retries = 2): Outbox<string> =>
  new Outbox({ send, limit, retries, backoff: 100 });

describe("Outbox", () => {
  it("sends in order, one at a time, without being waited for", async () => {
    const sent: string[] = [];
    let inFlight = 0;
    const outbox = make(async (item) => {
      expect(++inFlight).toBe(1);
      await Promise.resolve();
      inFlight--;
      sent.push(item);
    });
    outbox.push("a");
    outbox.push("b");
    expect(sent).toEqual([]);
    await outbox.close();
    expect(sent).toEqual(["a", "b"]);
    expect(outbox).toMatchObject({ delivered: 2, failed: 0, dropped: 0, problem: undefined });
  });

  it("goes on after it has been empty", async () => {
    const sent: string[] = [];
    const outbox = make(async (item) => void sent.push(item));
    outbox.push("a");
    await vi.advanceTimersByTimeAsync(10);
    outbox.push("b");
    await outbox.close();
    expect(sent).toEqual(["a", "b"]);
  });

  it("drops the oldest of those that wait when it is full, and counts them", async () => {
    const sent: string[] = [];
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const outbox = make(async (item) => {
      await gate;
      sent.push(item);
    });
    for (const item of "abcdefg") outbox.push(item);
    open();
    await outbox.close();
    // `a` was on its way; of the others the last three fit.
    expect(sent).toEqual(["a", "e", "f", "g"]);
    expect(outbox.dropped).toBe(3);
    expect(outbox.problem).toMatch(/^3 of 7 did not get through, 3 of them dropped/);
  });

  it("tries again with growing pauses, then gives up", async () => {
    const at: number[] = [];
    const start = Date.now();
    const outbox = make(async () => {
      at.push(Date.now() - start);
      throw new SendError("HTTP 500", true);
    });
    outbox.push("a");
    await vi.advanceTimersByTimeAsync(1000);
    expect(at).toEqual([0, 100, 300]);
    expect(outbox).toMatchObject({ delivered: 0, failed: 1, lastError: "HTTP 500" });
  });

  it("waits as long as the server asks for", async () => {
    const at: number[] = [];
    const start = Date.now();
    const outbox = make(async () => {
      at.push(Date.now() - start);
      if (at.length === 1) throw new SendError("HTTP 429", true, 700);
    });
    outbox.push("a");
    await vi.advanceTimersByTimeAsync(1000);
    expect(at).toEqual([0, 700]);
    expect(outbox).toMatchObject({ delivered: 1, failed: 0 });
  });

  it("does not repeat what cannot succeed, and goes on with the next", async () => {
    const tried: string[] = [];
    const outbox = make(async (item) => {
      tried.push(item);
      if (item === "a") throw new SendError("HTTP 404", false);
    });
    outbox.push("a");
    outbox.push("b");
    await outbox.close();
    expect(tried).toEqual(["a", "b"]);
    expect(outbox).toMatchObject({ delivered: 1, failed: 1 });
  });

  it.each([
    ["a request that hangs", hang],
    ["a pause between attempts", () => Promise.reject(new SendError("HTTP 500", true, 60_000))],
  ])("ends on time in %s, and leaves no timer", async (_what, send) => {
    const outbox = make(send);
    outbox.push("a");
    outbox.push("b");
    let closed = false;
    const closing = outbox.close().then(() => void (closed = true));
    await vi.advanceTimersByTimeAsync(FLUSH_MS - 1);
    expect(closed).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await closing;
    expect(outbox).toMatchObject({ failed: 1, dropped: 1 });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("counts the time to the end from finish(), not from close()", async () => {
    const outbox = make(hang);
    outbox.push("a");
    outbox.finish();
    await vi.advanceTimersByTimeAsync(FLUSH_MS);
    const start = Date.now();
    await outbox.close();
    expect(Date.now() - start).toBe(0);
  });
});
