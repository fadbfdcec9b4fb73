// What a manifest may leave out, and what it may not get wrong.
import { expect, it, onTestFinished, test } from "vitest";
import { MANIFEST, manifestBody, manifestText, parseManifest, sealManifest } from "./manifest.ts";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDirectoryStore } from "hookline/checkpoint";

const manifest = { name: "a", step: 1, epoch: 0, reason: "mine", metrics: {}, time: 1, runId: "r", files: {} };
const written = (more: object): string => sealManifest(manifestBody({ ...manifest, ...more }), "digest");

test("what was not given is absent, what was comes back", () => {
  expect(written({})).not.toMatch(/"(?:parent|by)"/);
  expect(parseManifest(written({}))).toMatchObject({ kind: "valid", manifest });
  const more = { parent: "b", by: ["checkpoint"] };
  expect(parseManifest(written(more))).toMatchObject({ kind: "valid", manifest: { ...manifest, ...more } });
});

test.each([
  ["by", "checkpoint"],
  ["by", [1]],
  ["by", null],
  ["parent", 1],
  ["reason", undefined],
])("%s: %j is wrong", (field, value) => {
  expect(parseManifest(written({ [field]: value }))).toEqual({
    kind: "bad",
    reason: `its \`${field}\` is missing or wrong`,
  });
});

it.each([
  ["the least", {}],
  [
    "all there is",
    { parent: "step-000001", by: ["a", "b"], metrics: { "val/loss": Number.NaN, x: -Infinity, y: 0.1 } },
  ],
])("%s", async (_what, more) => {
  const folder = mkdtempSync(join(tmpdir(), "hookline-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const store = await openDirectoryStore(folder, { thread: false });
  onTestFinished(() => store.close());
  const info = { step: 2, epoch: 1, reason: "best", metrics: {}, time: 1_700_000_000_000, runId: "r", ...more };
  const saved = await store.save("one", { "b.bin": new Uint8Array(3), "a.bin": new Uint8Array(5) }, info);
  expect(await manifestText(saved)).toBe(readFileSync(join(saved.dir!, MANIFEST), "utf8"));
});
