// The map of `npm run walk`: the ways through the code that readers follow stay short.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../support/sources.ts";

test("a fused step, a read of ctx.loss, a save and a logged scalar pass through few files", () => {
  const printed = execFileSync(process.execPath, [join(root, "node_modules/tsx/dist/cli.mjs"), "tests/walk/main.ts"], {
    cwd: root,
    encoding: "utf8",
  });
  const journeys = [...printed.matchAll(/^(.+): (\d+) files \(at most (\d+)\)/gm)].map(([, name, files, most]) => ({
    name: name!,
    files: Number(files),
    most: Number(most),
  }));
  expect(journeys).toHaveLength(4);
  // The walk begins to count where it should: nothing is shorter than its first and last file.
  expect(journeys.filter(({ files }) => files < 2)).toEqual([]);
  expect(
    journeys.filter(({ files, most }) => files > most),
    printed,
  ).toEqual([]);
});
