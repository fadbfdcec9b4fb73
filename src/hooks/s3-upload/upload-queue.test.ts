// The queue of uploads: in order, one at a time; what a newer one replaces goes, what was saved for a reason stays.
import type { SavedCheckpoint } from "hookline/checkpoint";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { GoneError, UploadQueue } from "./upload-queue.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const saved = (name: string, reason = "interval"): SavedCheckpoint => ({
  name,
  reason,
  step: 0,
  epoch: 0,
  metrics: {},
  time: 0,
  runId: "r",
  files: {},
});

/** A queue whose uploads end when they are told to, or with what `fails` gives. */
function make(fails: Record<string, Error> = {}) {
  const warnings: string[] = [];
  const sent: string[] = [];
  let [release, aborted] = [(): void => undefined, (): void => undefined];
  let listening = false;
  const queue = new UploadQueue({
    upload: (each, signal) =>
      new Promise((resolve, reject) => {
        aborted = () => reject(new Error("aborted"));
        if (!listening) signal.addEventListener("abort", () => aborted());
        listening = true;
        release = () => (fails[each.name] ? reject(fails[each.name]!) : resolve(10));
      }).then((bytes) => {
        sent.push(each.name);
        return bytes as number;
      }),
    done: () => undefined,
    warn: (message) => void warnings.push(message),
  });
  /** Lets the one on its way end, and all that follow. */
  const drain = async (): Promise<void> => {
    for (let i = 0; i < 300; i++) {
      release();
      await vi.advanceTimersByTimeAsync(0);
    }
  };
  return { queue, warnings, sent, drain };
}

describe("UploadQueue", () => {
  it("sends in order, one at a time", async () => {
    const { queue, sent, drain, warnings } = make();
    for (const name of "abc") queue.push(saved(name, "best"));
    expect(sent).toEqual([]);
    await drain();
    expect(sent).toEqual(["a", "b", "c"]);
    expect(queue).toMatchObject({ uploaded: 3, bytes: 30, failed: 0, dropped: 0, problem: undefined });
    expect(warnings).toEqual([]);
  });

  it("leaves out those of an interval that wait when a newer one comes, says so once, and counts them", async () => {
    const { queue, sent, drain, warnings } = make();
    for (const name of "abcd") queue.push(saved(name));
    await drain();
    // `a` was on its way.
    expect(sent).toEqual(["a", "d"]);
    expect(warnings).toEqual([expect.stringMatching(/^b is left out, since a newer one waits while a is on its way/)]);
    expect(queue.dropped).toBe(2);
    expect(queue.lost).toBe(false);
    expect(queue.problem).toBe(
      "of 4 checkpoints 2 arrived; 2 left out, since a newer one came or they had been removed",
    );
  });

  it.each(["best", "final", "emergency", "milestone", "request", "my own reason"])(
    "keeps those saved as %s",
    async (reason) => {
      const { queue, sent, drain } = make();
      queue.push(saved("a"));
      queue.push(saved("b", reason));
      queue.push(saved("c"));
      queue.push(saved("d", reason));
      await drain();
      expect(sent).toEqual(["a", "b", "d"]);
    },
  );

  it("is bounded all the same", async () => {
    const { queue, sent, drain } = make();
    for (let i = 0; i < 300; i++) queue.push(saved(`${i}`, "best"));
    await drain();
    // One was on its way and 256 waited.
    expect(sent).toHaveLength(257);
    expect(sent.at(-1)).toBe("299");
    expect(queue.dropped).toBe(43);
  });

  it("sends only the newer of two of the same name", async () => {
    const { queue, sent, drain } = make();
    for (const name of ["a", "last", "last"]) queue.push(saved(name, "best"));
    await drain();
    expect(sent).toEqual(["a", "last"]);
    expect(queue.dropped).toBe(0);
  });

  it("a reason that is a sentence stands within others", async () => {
    const { queue, drain, warnings } = make({ a: new Error("It is full. Empty it."), b: new GoneError("It is gone.") });
    for (const name of "ab") queue.push(saved(name, "best"));
    await drain();
    expect(warnings).toEqual(["a was not sent: It is full. Empty it", "b is not sent: It is gone"]);
    expect(queue.problem).toContain("1 failed (the last: It is full. Empty it);");
  });

  it("goes on after a failure; the same reason again is only counted", async () => {
    const { queue, sent, drain, warnings } = make({
      a: new Error("HTTP 403"),
      b: new Error("HTTP 403"),
      c: new Error("HTTP 500"),
    });
    for (const name of "abcd") queue.push(saved(name, "best"));
    await drain();
    expect(sent).toEqual(["d"]);
    expect(warnings).toEqual(["a was not sent: HTTP 403", "c was not sent: HTTP 500"]);
    expect(queue).toMatchObject({ failed: 3, uploaded: 1, lost: true });
    expect(queue.problem).toBe("of 4 checkpoints 1 arrived; 3 failed (the last: HTTP 500)");
  });

  it("leaves out what has been removed, with a note", async () => {
    const { queue, drain, warnings } = make({ a: new GoneError("it has been removed") });
    queue.push(saved("a", "best"));
    await drain();
    expect(warnings).toEqual(["a is not sent: it has been removed"]);
    expect(queue).toMatchObject({ failed: 0, dropped: 1, lost: false });
  });

  it("waits for so long, then breaks off and names what was not sent; no timer is left", async () => {
    const { queue } = make();
    queue.push(saved("a", "best"));
    queue.push(saved("b", "final"));
    let waited = false;
    const idle = queue.idle(500).then(() => (waited = true));
    await vi.advanceTimersByTimeAsync(499);
    expect(waited).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await idle;
    await queue.close();
    expect(queue.problem).toBe("of 2 checkpoints 0 arrived; a, b not sent before the run was over");
    expect(queue.lost).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });
});
