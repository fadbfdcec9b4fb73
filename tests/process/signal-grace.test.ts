// The watchdog: a process that was told to go goes, though a hook or the last save hangs.
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { startChild } from "./child.ts";

const GRACE = 500;
/** Room for a busy machine. What hangs in these runs does so for twice as long, or for ever. */
const ROOM = 30_000;

vi.setConfig({ testTimeout: 4 * ROOM });

describe("a run that does not end after a signal", () => {
  it.each([
    ["hook", "SIGINT", 130],
    ["save", "SIGTERM", 143],
  ] as const)("with a %s that hangs is over after the grace, with the code of %s", async (hangs, name, code) => {
    const child = startChild({ hangs, signalGrace: GRACE });
    await child.until("begun");
    const sent = child.signal(name);
    const { at, ...end } = await child.exit;
    expect(end).toEqual({ code, signal: null });
    expect(at - sent).toBeGreaterThanOrEqual(GRACE - 1);
    expect(at - sent).toBeLessThan(GRACE + ROOM);
    expect(child.errors()).toBe(
      `hookline: the run has not ended ${GRACE} ms after ${name} (\`signalGrace\`): the process exits\n`,
    );
    expect(child.notes.at(-1)!.note).not.toBe("result");
  });

  it("has the signal's code too when nothing is left that could ever wake it", async () => {
    const child = startChild({ hangs: "idle hook", signalGrace: GRACE });
    await child.until("begun");
    const sent = child.signal("SIGTERM");
    const { code, at } = await child.exit;
    expect(code).toBe(143);
    expect(at - sent).toBeLessThan(GRACE + ROOM);
  });

  it("lasts as long as it likes within the grace", async () => {
    const child = startChild({ slowEnd: 700, signalGrace: 60_000 });
    await child.until("begun");
    child.signal("SIGTERM");
    const end = await child.until("trainEnd");
    expect((await child.until("result")).at - end.at).toBeGreaterThanOrEqual(699);
    // What is left of the grace must not keep the program.
    const after = await child.until("after");
    const { code, at } = await child.exit;
    expect(code).toBe(143);
    expect(at - after.at).toBeLessThan(ROOM);
  });

  it("is not cut off when it has ended, though the program goes on beyond the grace", async () => {
    // Longer than the grace, which in turn is long enough for the run to end in it.
    const child = startChild({ signalGrace: 5000, stays: 6000 });
    await child.until("begun");
    await sleep(Math.random() * 50);
    child.signal("SIGTERM");
    await child.until("after");
    expect((await child.exit).code).toBe(143);
    expect(child.errors()).toBe("");
  });
});
