// The manifest made here is the one that a directory has, letter for letter.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDirectoryStore } from "hookline/checkpoint";
import { expect, it, onTestFinished } from "vitest";
import { manifestText } from "./manifest-text.ts";
import { MANIFEST } from "./manifest.ts";

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
