// Planted secrets must not come out, and ordinary messages must come out as they are.
import { afterEach, describe, expect, it, vi } from "vitest";
import { costRatio } from "../../tests/support/cost-ratio.ts";
import { isSecret, redact, secretsOfEnvironment } from "./redact.ts";

afterEach(() => void vi.unstubAllEnvs());

const SECRET = "s3cr3t-Value-1234567890";

it.each([
  `https://user:${SECRET}@example.com/path`,
  `request failed: api_key=${SECRET}&x=1`,
  `{"token": "${SECRET}"}`,
  `{'password': '${SECRET}'}`,
  `Authorization: Bearer ${SECRET}`,
  `sent Bearer ${SECRET}`,
  `WANDB key sk-${SECRET}`,
  `ghp_${SECRET.replaceAll("-", "")}`,
  `POST https://hooks.slack.com/services/T000/B000/${SECRET} failed`,
  `POST https://discord.com/api/webhooks/123/${SECRET}`,
])("hides %s", (text) => {
  expect(redact(text, [])).not.toContain(SECRET);
  expect(redact(text, [])).not.toContain(SECRET.replaceAll("-", ""));
  expect(redact(text, [])).toContain("…");
});

it("hides what the environment calls a secret, and what it is told", () => {
  vi.stubEnv("MY_SERVICE_TOKEN", SECRET);
  expect(redact(`it was ${SECRET}!`, secretsOfEnvironment())).toBe("it was …!");
  expect(redact("a/b/longer-path and longer", ["longer", "longer-path"])).toBe("a/b/… and …");
});

it("leaves ordinary messages alone", () => {
  const text = "DataError: the loader gave 4 tokens at step 12 (https://example.com/docs), expected key `x`";
  expect(redact(text, [])).toBe(text);
});

it.each([
  "token=",
  "://a",
  "bearer ",
  "eyJ-",
  "eyJaaaaaaaaa.",
  "?a-",
  "&signature",
  'token="',
  "token   ",
  "-----BEGIN PRIVATE KEY-----",
  "sk-",
  "_pass",
  SECRET.slice(0, -1),
])("takes time in proportion to the text: %s", (part) => {
  const [small, large] = [part.repeat(10_000), part.repeat(80_000)];
  // 8 where it is linear, 64 where it is quadratic.
  expect(
    costRatio(
      () => redact(small, [SECRET]),
      () => redact(large, [SECRET]),
    ),
  ).toBeLessThan(24);
});

it.each([
  ["DB_PASS", true],
  ["PGPASS", true],
  ["smtpPass", true],
  ["pass", true],
  ["API_BEARER", true],
  ["bearerOfMine", true],
  ["SIGNING_PRIVATE", true],
  ["private", true],
  ["bypass", false],
  ["COMPASS", false],
  ["passes", false],
  ["passThrough", false],
  ["privateRuns", false],
])("a text under the name %s is secret: %s", (name, secret) => expect(isSecret(name, "some text")).toBe(secret));

it("numbers and switches under such names stay", () => {
  for (const value of [3, true]) for (const name of ["pass", "private"]) expect(isSecret(name, value)).toBe(false);
});

describe("a known secret in another writing", () => {
  const odd = 'p@ss w/rd+"%é';
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  const binary = (text: string): string => String.fromCharCode(...bytes(text));
  const hex = (text: string): string => Array.from(bytes(text), (byte) => byte.toString(16).padStart(2, "0")).join("");

  it.each([
    ["base64", (secret: string) => btoa(binary(secret))],
    ["base64 without padding", (secret: string) => btoa(binary(secret)).replaceAll("=", "")],
    ["base64 for URLs", (secret: string) => btoa(binary(secret)).replaceAll("+", "-").replaceAll("/", "_")],
    ["base64 of more, by one letter", (secret: string) => btoa(binary(`:${secret}:tail`))],
    ["base64 of more, by two letters", (secret: string) => btoa(binary(`u:${secret}!`))],
    ["base64 of a user's name and it", (secret: string) => btoa(binary(`user:${secret}`))],
    ["hex", hex],
    ["hex in capitals", (secret: string) => hex(secret).toUpperCase()],
    ["a URL", (secret: string) => encodeURIComponent(secret)],
    ["a form", (secret: string) => new URLSearchParams({ q: secret }).toString().slice(2)],
    ["JSON", (secret: string) => JSON.stringify(secret)],
  ])("%s", (_, write) => {
    for (const secret of [SECRET, odd]) {
      const written = write(secret);
      const left = redact(`it was ${written} there`, [secret]);
      expect(left).toContain("…");
      // Of base64 the letters at the ends are shared with what stands beside it.
      expect(left.length).toBeLessThan("it was … there".length + 14);
      expect(left).toMatch(/^it was .* there$/);
    }
  });
});
