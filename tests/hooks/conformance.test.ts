// The suite that every built-in passes: options, two fits, state, device reads, failures at every event, and a clean end.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import * as hookline from "hookline";
import { OptionError, type BuiltinEvent, type Hook, type HostTensors, type RunResult, type Trainer } from "hookline";
import { DataLoader } from "hookline/data";
import { linear, sequential, tanh } from "hookline/nn";
import { savedState, tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { BUILTIN_EVENTS, EVENTS, methodOf } from "../../src/core/events.ts";
import { countingEngine } from "../support/engines.ts";
import { fullTrainer } from "../support/full-trainer.ts";
import { watchBuffers, type LiveBuffers } from "../support/live-buffers.ts";
import { noticeServer, type NoticeServer } from "../support/notice-server.ts";
import { oneIn } from "../support/repetitions.ts";
import { root, sources } from "../support/sources.ts";
import { BUILT_INS, type Surroundings } from "./built-ins.ts";

let server: NoticeServer;
let live: LiveBuffers;
let around: Surroundings;

beforeAll(async () => {
  server = await noticeServer();
  live = await watchBuffers();
});
afterAll(() => server.close());
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), "hookline-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  around = { folder, url: server.url };
});

/** `early-stopping.ts` → `earlyStopping` */
const factoryName = (file: string): string =>
  basename(file, ".ts").replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());

describe("the list", () => {
  it("holds every hook of src/hooks: a file, in a folder where there are several, with a factory of its name", async () => {
    const found: string[] = [];
    for (const file of sources("src/hooks").filter((each) => each !== "src/hooks/index.ts")) {
      const name = factoryName(file);
      const exports = (await import(/* @vite-ignore */ join(root, file))) as Record<string, unknown>;
      if (typeof exports[name] === "function") found.push(name);
      else expect(file, "what is no hook is in a folder").toMatch(/^src\/hooks\/[^/]+\//);
    }
    expect(found.sort()).toEqual(Object.keys(BUILT_INS).sort());
  });

  it("is what hookline exports", () => {
    expect(Object.keys(hookline)).toEqual(expect.arrayContaining(Object.keys(BUILT_INS)));
  });
});

/** What keeps a process alive, by kind. */
function resources(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

const KINDS = ["Timeout", "TCPSocketWrap", "TLSWrap", "FSReqPromise", "ProcessWrap", "PipeWrap", "GetAddrInfoReqWrap"];

/** Nothing of these kinds more than before: timers, sockets, files, children. Some take a moment to go. */
async function nothingLeft(before: Map<string, number>): Promise<void> {
  const deadline = performance.now() + 60_000;
  let more: string[];
  do {
    // A timer to wait with would be one too many.
    await new Promise((resolve) => setImmediate(resolve));
    const now = resources();
    more = KINDS.filter((kind) => (now.get(kind) ?? 0) > (before.get(kind) ?? 0));
  } while (more.length > 0 && performance.now() < deadline);
  expect(more).toEqual([]);
}

/** With points inside for those that look there. */
const model = () => sequential(linear(3, 4), tanh(), linear(4, 1));

/** A run that fires everything: accumulates, clips, evaluates and logs. Its warnings are errors of the test. */
const fullOf = (hooks: Hook[], warnings: string[], more: TinyOptions | undefined): Trainer =>
  fullTrainer({ model: model(), hooks, warn: (message) => void warnings.push(message), ...more });

const ALL = Object.entries(BUILT_INS).map(([name, built], nth) => ({ name, nth, ...built }));

describe.each(ALL)("$name", ({ name, nth, make, wraps, single, needs, idle, idleIn, changes }) => {
  const full = (hooks: Hook[], warnings: string[] = []): Trainer => fullOf(hooks, warnings, needs?.(around));

  it.skipIf(wraps)("has its factory's name, or the one it is given", () => {
    expect(make(around).name).toBe(name);
    if (!single) expect(make(around, { name: "another" }).name).toBe("another");
  });

  it.skipIf(wraps || single)("rejects an unknown option with the nearest name", () => {
    expect(() => make(around, { nmae: "x" })).toThrow(OptionError);
    expect(() => make(around, { nmae: "x" })).toThrow(/unknown option `nmae`. Did you mean `name`\?/);
  });

  it("two of it live side by side", async () => {
    const hooks = wraps || single ? [make(around)] : [make(around), make(around, { name: "another" })];
    const warnings: string[] = [];
    expect((await full(hooks, warnings).fit()).status).toBe("completed");
    expect(warnings).toEqual([]);
  });

  it("takes part in two fits in a row, with evaluations, clipping and accumulation, and closes", async () => {
    const before = resources();
    const buffers = live.count;
    const hook = make(around);
    const closed = hook.onClose === undefined ? undefined : vi.spyOn(hook, "onClose");
    const warnings: string[] = [];
    const trainer = full([hook], warnings);
    expect(await trainer.fit()).toMatchObject({ status: "completed", epochs: 2, hookErrorCount: 0 });
    expect(await trainer.fit({ epochs: 4 })).toMatchObject({ status: "completed", epochs: 4, hookErrorCount: 0 });
    if (closed) expect(closed).toHaveBeenCalledTimes(2);
    expect(warnings).toEqual([]);
    await trainer.evaluate(new DataLoader(tinyData(8), { batchSize: 4 }));
    await trainer.close();
    expect(live.count - buffers, "buffers on the engine").toBe(0);
    await nothingLeft(before);
  });

  it("gives its state back as it was", async () => {
    const hook = make(around);
    const trainer = full([hook]);
    await trainer.fit();
    // Both or none: a state that cannot be loaded is of no use.
    expect(hook.load === undefined).toBe(hook.state === undefined);
    if (!hook.state) return;
    const saved = await savedState(hook);
    const fresh = make(around);
    await fresh.load!(saved, fresh.version ?? 1);
    expect(await savedState(fresh)).toEqual(saved);
    // And goes on from there in a run of its own.
    const warnings: string[] = [];
    expect((await full([fresh], warnings).fit()).status).toBe("completed");
    expect(warnings).toEqual([]);
    await trainer.close();
  });

  it("reads nothing from the device while it has nothing to do", async () => {
    const reads = async (hooks: Hook[]): Promise<number> => {
      const { engine, reads: count } = await countingEngine();
      // One that looks at the loss, as any log does: what a step reports anyway is no further read.
      const looks: Hook = { name: "looks", onStepEnd: (ctx) => void ctx.loss };
      const quiet = { eval: new DataLoader(tinyData(4), { batchSize: 4 }), evalEvery: 1000, logEvery: 1000 };
      const trainer = tinyTrainer({
        engine,
        model: model(),
        samples: 64,
        steps: 12,
        hooks: [looks, ...hooks],
        ...quiet,
        ...idleIn,
        ...needs?.(around),
      });
      await trainer.fit();
      plans.push(trainer.explainPlan().split(":")[0]!);
      await trainer.close();
      return count();
    };
    const plans: string[] = [];
    expect(await reads([make(around, idle)])).toBe(await reads([]));
    // Nor does it cut the step into more programs.
    expect(plans[0]).toBe(plans[1]);
  });

  it.skipIf(changes)("only observes: the parameters come out the same, bit for bit", async () => {
    const train = async (hooks: Hook[]): Promise<HostTensors> => {
      const trainer = full(hooks);
      await trainer.fit();
      const params = await trainer.stateDict();
      await trainer.close();
      return params;
    };
    expect(await train([make(around)])).toEqual(await train([]));
  });

  // The hooks and the sides take turns over the events; in the soak each meets all of them.
  it.each([["before", nth] as const, ["after", nth + 2] as const])(
    "survives another hook's error at every event, %s its own turn",
    async (side, turn) => {
      const before = resources();
      const buffers = live.count;
      const hook = make(around);
      const closed = hook.onClose === undefined ? undefined : vi.spyOn(hook, "onClose");
      const trainer = full([hook]);
      for (const event of oneIn(4, BUILTIN_EVENTS, turn)) {
        closed?.mockClear();
        const dispose = trainer.hooks.add(failingAt(event, side));
        const call = async (): Promise<RunResult> => {
          const result = await trainer.fit({ restart: true });
          if (EVENTS[event].level !== "predict") return result;
          // The one of `fit` is not meant.
          closed?.mockClear();
          await trainer.predict(new DataLoader(tinyData(4), { batchSize: 4 }));
          return result;
        };
        const outcome = await call().then(
          ({ status, hookErrors }) => ({ status, message: String(hookErrors[0]?.error) }),
          (error: Error) => ({ status: "error", message: error.message }),
        );
        dispose();
        // What fails while a run is closed does not undo it.
        expect(outcome.status, event).toBe(event === "close" ? "completed" : "error");
        expect(outcome.message, event).toContain(`as planned in ${event === "exception" ? "stepEnd" : event}`);
        if (closed) expect(closed, event).toHaveBeenCalledOnce();
      }
      // Afterwards it works as if nothing had happened.
      expect(await trainer.fit({ restart: true })).toMatchObject({ status: "completed", hookErrorCount: 0 });
      await trainer.close();
      expect(live.count - buffers, "buffers on the engine").toBe(0);
      await nothingLeft(before);
    },
  );
});

/** Throws at `event`, as the first or the last of its listeners; `exception` takes an error to come about. */
function failingAt(event: BuiltinEvent, side: "before" | "after"): Hook {
  const events = event === "exception" ? (["stepEnd", "exception"] as const) : [event];
  const methods = events.map((each) => [
    methodOf(each),
    () => {
      throw new Error(`as planned in ${each}`);
    },
  ]);
  return {
    name: "failing",
    stage: side === "before" ? "user" : "progress",
    onError: "throw",
    ...Object.fromEntries(methods),
  };
}
