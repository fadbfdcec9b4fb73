// Attempts and the pauses between them.
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { SendError, retryAfterMs, withRetries } from "./retry.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const { signal } = new AbortController();

/** When each attempt was made. */
async function attempts(errors: readonly Error[], random = 1): Promise<{ at: number[]; error: unknown }> {
  vi.spyOn(Math, "random").mockReturnValue(random);
  const at: number[] = [];
  const start = Date.now();
  const work = async (): Promise<void> => {
    at.push(Date.now() - start);
    const error = errors[at.length - 1];
    if (error) throw error;
  };
  const trying = withRetries({ retries: 3, backoff: 100, signal }, work).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(200_000);
  return { at, error: await trying };
}

const passing = new SendError("HTTP 500", true);

it("pauses grow, and chance takes up to half off", async () => {
  expect((await attempts(Array(9).fill(passing))).at).toEqual([0, 100, 300, 700]);
  expect((await attempts(Array(9).fill(passing), 0)).at).toEqual([0, 50, 150, 350]);
});

it("gives the last error when the attempts are used up", async () => {
  expect((await attempts(Array(9).fill(passing))).error).toBe(passing);
  expect((await attempts([passing])).error).toBeUndefined();
});

it("waits as long as the server asks for, within reason", async () => {
  expect((await attempts([new SendError("", true, 700), new SendError("", true, 1e9)])).at).toEqual([0, 700, 60_700]);
});

it("does not repeat what cannot succeed", async () => {
  expect((await attempts([new SendError("HTTP 403", false)])).at).toEqual([0]);
  expect((await attempts([new Error("a bug")])).at).toEqual([0]);
});

it("ends its pause when it is aborted, with what the last attempt met", async () => {
  const end = new AbortController();
  const trying = withRetries({ retries: 3, backoff: 1e6, signal: end.signal }, () => Promise.reject(passing));
  const failed = trying.catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(10);
  end.abort();
  expect(await failed).toBe(passing);
  expect(vi.getTimerCount()).toBe(0);
});

const NOW = Date.parse("Mon, 01 Jun 2026 12:00:00 GMT");

it.each([
  ["120", 120_000],
  [" 0.5 ", 500],
  ["Mon, 01 Jun 2026 12:00:30 GMT", 30_000],
  ["9".repeat(400), Infinity],
])("%j is a time to wait", (header, ms) => expect(retryAfterMs(header, NOW)).toBe(ms));

it.each([
  "-5",
  "0",
  "",
  "  ",
  "NaN",
  "-Infinity",
  "1e400",
  "soon",
  "Mon, 01 Jun 2026 11:59:59 GMT",
  "Thu, 01 Jan 1970 00:00:00 GMT",
  null,
  undefined,
])("%j leaves it to the sender", (header) => expect(retryAfterMs(header, NOW)).toBeUndefined());
