// What a manifest may leave out, and what it may not get wrong.
import { expect, test } from "vitest";
import { manifestBody, parseManifest, sealManifest } from "./manifest.ts";

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
