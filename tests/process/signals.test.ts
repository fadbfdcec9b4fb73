// Signals to a training process whose loop never waits by itself: it ends in time, says why, and leaves no handler behind.
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { startChild } from "./child.ts";

/** The loop looks at signals at least every 50 ms, at the end of a step; a busy machine may take far longer. */
const AT_LAST = 30_000;

vi.setConfig({ testTimeout: 4 * AT_LAST });

describe("a signal during a synchronous run", () => {
  it("ends it, at whatever moment it comes", async () => {
    const rounds = 12;
    const child = startChild({ rounds });
    const late: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const name = round % 2 === 0 ? "SIGINT" : "SIGTERM";
      await child.until("begun");
      await sleep(Math.random() * 120);
      const sent = child.signal(name);
      const end = await child.until("trainEnd");
      const result = await child.until("result");
      expect(end).toMatchObject({ status: "interrupted", reason: name, requestedBy: name });
      expect(result).toMatchObject({ status: "interrupted", reason: name, requestedBy: name, step: end.step });
      expect(result.at - sent).toBeLessThan(AT_LAST);
      late.push(result.at - sent);
    }
    late.sort((a, b) => a - b);
    console.info(`from signal to result: ${late.join(", ")} ms`);
    expect(await child.until("after")).toMatchObject({ listeners: 0 });
    expect((await child.exit).code).toBe(143);
  });

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("%s gives exit code %i after the program has gone on to its end", async (name, code) => {
    const child = startChild({});
    await child.until("begun");
    child.signal(name);
    await child.until("after");
    expect(await child.exit).toMatchObject({ code, signal: null });
  });

  it("ends an evaluation in the middle, whose metrics do not count", async () => {
    const child = startChild({ evaluate: true });
    await child.until("begun");
    await sleep(Math.random() * 100);
    child.signal("SIGINT");
    const result = await child.until("result");
    expect(result).toMatchObject({ status: "interrupted", reason: "SIGINT", step: 0, partialEval: true, metrics: [] });
    expect((await child.exit).code).toBe(130);
  });

  it("a second one ends the process at once, though not an echo of the first", async () => {
    const child = startChild({ slowEnd: 60_000 });
    await child.until("begun");
    child.signal("SIGINT");
    // Another signal, sent at once: a second SIGINT would merge with the first, and a later one could be a second wish.
    child.signal("SIGTERM");
    await child.until("trainEnd");
    // Longer than a signal counts as the echo of the first.
    await sleep(600);
    child.signal("SIGTERM");
    expect((await child.exit).code).toBe(143);
    expect(child.notes.map(({ note }) => note)).toEqual(["begun", "trainEnd"]);
  });

  it("reaches the program's own handlers too, which stay", async () => {
    const child = startChild({ ownHandler: true });
    await child.until("begun");
    child.signal("SIGINT");
    await child.until("handler");
    expect(await child.until("result")).toMatchObject({ status: "interrupted" });
    expect(await child.until("after")).toMatchObject({ listeners: 0 });
    child.signal("SIGINT");
    await child.until("handler");
    expect((await child.exit).code).toBe(130);
  });

  // Nothing yields between epochs without a step, so neither a signal nor a timer gets through.
  it("ends a run whose hook skips every epoch", async () => {
    const child = startChild({ skipEpochs: true });
    await child.until("begun");
    child.signal("SIGINT");
    onTestFinished(() => void child.signal("SIGKILL"));
    expect(await child.until("result")).toMatchObject({ status: "interrupted" });
  });

  it("does what the system does where the trainer is told to leave signals alone", async () => {
    const child = startChild({ signals: false });
    await child.until("begun");
    child.signal("SIGTERM");
    expect(await child.exit).toMatchObject({ code: null, signal: "SIGTERM" });
    expect(child.notes.map(({ note }) => note)).toEqual(["begun"]);
  });
});
