// The samples of docs/config.md are configs: a fence whose first line names a file is that file.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readConfig } from "../../src/experiment/config/read-config.ts";
import { projectOf } from "../support/config-files.ts";
import { root } from "../support/sources.ts";

const page = readFileSync(join(root, "docs/config.md"), "utf8");
const samples = Object.fromEntries(
  [...page.matchAll(/^```\w+.*\n(?:#|\/\/) (\S+\.\w+)\n([^]*?)^```$/gm)].map(([, name, text]) => [name!, text!]),
);

it("reads the samples of the page", async () => {
  const cwd = projectOf(samples);
  const read = async (file: string): Promise<Record<string, unknown>> =>
    (await readConfig(file, { cwd, env: {} })).value;
  expect(await read("hookline.yaml")).toMatchObject({
    seed: 0,
    name: "digits",
    optimizer: { use: "adamw", lr: 0.001, weightDecay: 0.01 },
    schedule: { warmup: "5%" },
  });
  expect(await read("same.toml")).toMatchObject({ optimizer: { lr: 0.001, weightDecay: 0.01 }, epochs: 5 });
  expect(await read("hookline.config.ts")).toMatchObject({ name: "digits", warn: expect.any(Function) });
  expect(await read("own.yaml")).toEqual({ hooks: [{ use: "./hooks.ts#Threshold", threshold: 5 }] });
  expect(Object.keys(samples)).toHaveLength(7);
});
