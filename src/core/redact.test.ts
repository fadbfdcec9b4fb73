// Planted secrets must not come out, and ordinary messages must come out as they are.
import { afterEach, expect, it, vi } from "vitest";
import { redact, secretsOfEnvironment } from "./redact.ts";

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

it("takes time in proportion to the text", () => {
  const start = performance.now();
  redact(`${"token=".repeat(20_000)}${"://a".repeat(20_000)}${"bearer ".repeat(20_000)}`, []);
  for (const part of [
    "eyJ-",
    "eyJaaaaaaaaa.",
    "?a-",
    "&signature",
    'token="',
    "token   ",
    "-----BEGIN PRIVATE KEY-----",
    "sk-",
  ])
    redact(part.repeat(30_000), []);
  expect(performance.now() - start).toBeLessThan(1000);
});
