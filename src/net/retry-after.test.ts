import { expect, test } from "vitest";
import { retryAfterMs } from "./retry-after.ts";

const NOW = Date.parse("Mon, 01 Jun 2026 12:00:00 GMT");

test.each([
  ["120", 120_000],
  [" 0.5 ", 500],
  ["Mon, 01 Jun 2026 12:00:30 GMT", 30_000],
  ["9".repeat(400), Infinity],
])("%j is a pause", (header, ms) => expect(retryAfterMs(header, NOW)).toBe(ms));

test.each([
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
