// The samples of docs/config.md are configs: a fence whose first line names a file is that file.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { buildExperiment } from "../../src/experiment/build/build-experiment.ts";
import { readConfig } from "../../src/experiment/config/read-config.ts";
import { Experiment } from "../../src/experiment/experiment.ts";
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
  expect(await read("hookline.ts")).toMatchObject({ name: "digits", warn: expect.any(Function) });
  expect(await read("own.yaml")).toEqual({ hooks: [{ use: "./hooks.ts#Threshold", threshold: 5 }] });
  expect(Object.keys(samples)).toHaveLength(8);
});

it("trains what the page begins with", async () => {
  const cwd = projectOf(samples);
  const set = ["epochs=2", "data.limit=1000", "hooks.progressBar.quiet=true"];
  const options = await buildExperiment(await readConfig("hookline.yaml", { cwd, env: {}, set }));
  const { status, models } = await new Experiment(options).run();
  expect(status).toBe("completed");
  // By chance it would be 2.3.
  expect(models["model"]!.results["test/loss"]).toBeLessThan(1.5);
});
