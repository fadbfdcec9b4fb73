import { describe, expect, test, vi } from "vitest";
import type { Context } from "../context.ts";
import type { HookEntry } from "./hook-entry.ts";
import { compileFire, nobody, type Fire, type FireOptions, type Listener, type Turn } from "./dispatch.ts";

/** What a listener does when it is called; it always notes its name first. */
type Deed = () => unknown;

interface Bench {
  readonly fire: Fire;
  readonly calls: string[];
  readonly failed: string[];
  readonly timed: { hook: string; ms: number; weight: number }[];
  readonly turn: Turn;
}

const later = <T>(value?: T): Promise<T | undefined> => new Promise((resolve) => void setImmediate(resolve, value));

function bench(deeds: readonly (Deed | undefined)[], options: { hot?: boolean; fatal?: boolean } = {}): Bench {
  const turn: Turn = { event: null, ctx: null };
  const [calls, failed, timed]: [string[], string[], Bench["timed"]] = [[], [], []];
  const listeners = deeds.map((deed, i): Listener => {
    const ctx = { hook: `h${i}` } as Context;
    const call = (given: Context): unknown => {
      expect(given).toBe(ctx);
      expect(turn).toEqual({ event: "stepEnd", ctx });
      calls.push(`h${i}`);
      return deed?.();
    };
    return { hook: `h${i}`, entry: {} as HookEntry, ctx, call };
  });
  const fireOptions: FireOptions = {
    hot: options.hot ?? true,
    failed(listener, event, error) {
      failed.push(`${listener.hook} ${event} ${(error as Error).message}`);
      if (options.fatal) throw new Error(`fatal: ${(error as Error).message}`);
    },
    timed: (listener, _, ms, weight) => void timed.push({ hook: listener.hook, ms, weight }),
  };
  return { fire: compileFire("stepEnd", listeners, turn, fireOptions), calls, failed, timed, turn };
}

const names = (n: number): string[] => Array.from({ length: n }, (_, i) => `h${i}`);
const idle: Turn = { event: null, ctx: null };
const fails = (message: string) => (): never => {
  throw new Error(message);
};

// Hot events run generated code; cold events are always timed.
const SIZES = [1, 2, 3, 4, 5, 8, 9, 12];
const CASES = SIZES.flatMap((n) => [true, false].map((hot) => ({ n, hot })));
/** Fires until the fast path has been taken: the first firing of a hot event is measured. */
const ROUNDS = 3;

test("nobody listens: the one shared function", () => {
  expect(bench([]).fire).toBe(nobody);
  expect(nobody()).toBeUndefined();
});

describe.each(CASES)("$n listeners, hot: $hot", ({ n, hot }) => {
  const none = Array.from<Deed | undefined>({ length: n });

  test("synchronous ones are called in order, without a promise", () => {
    const { fire, calls, turn } = bench(none, { hot });
    for (let i = 0; i < ROUNDS; i++) expect(fire()).toBeUndefined();
    expect(calls).toEqual(Array.from({ length: ROUNDS }, () => names(n)).flat());
    expect(turn).toEqual(idle);
  });

  test("what is returned and is no promise does not matter", () => {
    const values = [1, "text", null, {}, false, () => 0, { then: 1 }];
    const { fire, calls } = bench(
      none.map((_, i) => () => values[i % values.length]),
      { hot },
    );
    for (let i = 0; i < ROUNDS; i++) expect(fire()).toBeUndefined();
    expect(calls).toHaveLength(ROUNDS * n);
  });

  test.each(Array.from({ length: n }, (_, at) => at))(
    "a promise from listener %i: the rest waits for it",
    async (at) => {
      const order: string[] = [];
      const deeds = none.map(
        (_, i) => () => (i === at ? later().then(() => void order.push(`done h${i}`)) : void order.push(`h${i}`)),
      );
      const { fire, turn } = bench(deeds, { hot });
      for (let round = 0; round < ROUNDS; round++) {
        order.length = 0;
        const pending = fire();
        expect(pending).toBeInstanceOf(Promise);
        expect(order).toEqual(names(at));
        expect(turn.event).toBe("stepEnd");
        await pending;
        expect(order).toEqual(names(n).map((name, i) => (i === at ? `done ${name}` : name)));
        expect(turn).toEqual(idle);
      }
    },
  );

  test.each(Array.from({ length: n }, (_, at) => at))("an error in listener %i is its own", (at) => {
    const deeds = none.map((_, i) => (i === at ? fails("oops") : undefined));
    const mild = bench(deeds, { hot });
    for (let i = 0; i < ROUNDS; i++) expect(mild.fire()).toBeUndefined();
    expect(mild.failed).toEqual(Array.from({ length: ROUNDS }, () => `h${at} stepEnd oops`));
    expect(mild.calls).toHaveLength(ROUNDS * n);
    expect(mild.turn).toEqual(idle);

    const fatal = bench(deeds, { hot, fatal: true });
    for (let i = 0; i < ROUNDS; i++) expect(() => fatal.fire()).toThrow("fatal: oops");
    expect(fatal.calls).toEqual(Array.from({ length: ROUNDS }, () => names(at + 1)).flat());
    expect(fatal.turn).toEqual(idle);
  });

  test.each(Array.from({ length: n }, (_, at) => at))("a rejection of listener %i is its own", async (at) => {
    const deeds = none.map((_, i) => (i === at ? () => later().then(fails("oops")) : undefined));
    const mild = bench(deeds, { hot });
    for (let i = 0; i < ROUNDS; i++) await mild.fire();
    expect(mild.failed).toEqual(Array.from({ length: ROUNDS }, () => `h${at} stepEnd oops`));
    expect(mild.calls).toHaveLength(ROUNDS * n);

    const fatal = bench(deeds, { hot, fatal: true });
    for (let i = 0; i < ROUNDS; i++) await expect(fatal.fire()).rejects.toThrow("fatal: oops");
    expect(fatal.calls).toEqual(Array.from({ length: ROUNDS }, () => names(at + 1)).flat());
    expect(fatal.turn).toEqual(idle);
  });
});

describe("mixed", () => {
  test("sync and async listeners alternate, and all keep their order", async () => {
    const order: number[] = [];
    const { fire } = bench(
      Array.from(
        { length: 9 },
        (_, i) => () => (i % 3 === 1 ? later().then(() => void order.push(i)) : void order.push(i)),
      ),
    );
    for (let i = 0; i < ROUNDS; i++) await fire();
    expect(order).toEqual(Array.from({ length: ROUNDS }, () => [0, 1, 2, 3, 4, 5, 6, 7, 8]).flat());
  });

  test("an error before and a rejection after a promise are both told", async () => {
    const { fire, failed, calls } = bench([
      fails("a"),
      () => later(),
      fails("c"),
      () => Promise.reject(new Error("d")),
    ]);
    for (let i = 0; i < ROUNDS; i++) await fire();
    expect(failed.slice(0, 3)).toEqual(["h0 stepEnd a", "h2 stepEnd c", "h3 stepEnd d"]);
    expect(calls).toHaveLength(4 * ROUNDS);
  });

  test("a thenable that is no Promise is awaited as well", async () => {
    let done = false;
    const thenable = { then: (resolve: () => void) => void setTimeout(() => ((done = true), resolve()), 1) };
    await bench([() => thenable]).fire();
    expect(done).toBe(true);
  });
});

describe("times", () => {
  test("cold events are timed every time", () => {
    const { fire, timed } = bench([undefined, undefined], { hot: false });
    for (let i = 0; i < 5; i++) void fire();
    expect(timed).toHaveLength(10);
    expect(timed.every(({ weight }) => weight === 1)).toBe(true);
  });

  test("hot events are sampled, and the weights make up for it", () => {
    const { fire, timed } = bench([undefined], { hot: true });
    const FIRINGS = 20_000;
    for (let i = 0; i < FIRINGS; i++) void fire();
    const counted = timed.reduce((sum, { weight }) => sum + weight, 0);
    expect(timed.length).toBeLessThan(FIRINGS / 20);
    expect(timed.length).toBeGreaterThan(FIRINGS / 50);
    expect(counted).toBeGreaterThan(FIRINGS - 64);
    expect(counted).toBeLessThanOrEqual(FIRINGS);
  });

  test("gaps vary, so that a hook with a period of its own is not always missed", () => {
    const { fire, timed } = bench([undefined], { hot: true });
    for (let i = 0; i < 5_000; i++) void fire();
    expect(new Set(timed.map(({ weight }) => weight)).size).toBeGreaterThan(20);
  });

  test("an asynchronous listener's time is from its call to its end", async () => {
    vi.useFakeTimers();
    try {
      const busyThenWait = (): Promise<void> => {
        vi.advanceTimersByTime(5);
        return new Promise((resolve) => void setTimeout(resolve, 7));
      };
      const { fire, timed } = bench([busyThenWait], { hot: false });
      const pending = fire();
      await vi.advanceTimersByTimeAsync(7);
      await pending;
      expect(timed[0]!.ms).toBeCloseTo(12);
    } finally {
      vi.useRealTimers();
    }
  });
});
