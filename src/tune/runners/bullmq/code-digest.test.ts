// Which code a process runs: what counts, and what does not.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { tempDir } from "../../../../tests/support/temp-dir.ts";
import { codeOf, codeDifference } from "./code-digest.ts";

const files = {
  "trial.ts": 'import { a } from "./lib/a.ts";\nimport "some-package";\nexport const train = () => ({ loss: a });\n',
  "lib/a.ts": 'export { b as a } from "../b.js";\n',
  "b.ts": 'export const b = 1;\nexport const later = () => import("./c.ts");\n',
  "c.ts": 'import "./trial.ts";\n',
  "unrelated.ts": "export {};\n",
};

function projectOf(changed: Readonly<Record<string, string>> = {}): string {
  const dir = tempDir();
  for (const [name, text] of Object.entries({ ...files, ...changed })) {
    mkdirSync(dirname(`${dir}/${name}`), { recursive: true });
    writeFileSync(`${dir}/${name}`, text);
  }
  return dir;
}
const codeIn = (changed?: Readonly<Record<string, string>>): ReturnType<typeof codeOf> =>
  codeOf(["./trial.ts#train"], projectOf(changed));

test("the trial's module and all that it imports by path count, wherever they lie", () => {
  const code = codeIn();
  expect(code).toEqual({ hookline: expect.stringMatching(/^\d+\.\d+\.\d+/), trial: expect.stringMatching(/^\w{12}$/) });
  expect(codeIn()).toEqual(code);
  expect(codeIn({ "unrelated.ts": "export const x = 1;\n" })).toEqual(code);
  for (const name of ["trial.ts", "lib/a.ts", "b.ts", "c.ts"] as const)
    expect(codeIn({ [name]: `${files[name]}// changed\n` }).trial, name).not.toBe(code.trial);
});

test("modules of hooks count as that of the trial does", () => {
  const both = (changed?: Readonly<Record<string, string>>): string =>
    codeOf(["./trial.ts#train", "./unrelated.ts#hook"], projectOf(changed)).trial;
  expect(both()).not.toBe(codeIn().trial);
  expect(both({ "unrelated.ts": "export const x = 1;\n" })).not.toBe(both());
});

test("of a sweep, all modules that its experiment and its space name by path count, and what these import", () => {
  const record = {
    schema: "hookline.sweep",
    version: 1,
    config: { file: "../../sweep.yaml", project: "../.." },
    overrides: [],
    space: { model: { use: "choice", options: [{ use: "./c.ts#small" }, "./data.csv"] } },
    objectives: ["val/loss"],
    experiment: { file: "../../configs/base.yaml", raw: { data: "../lib/a.ts#data", hooks: [{ use: "logger" }] } },
  };
  const sweep = (changed: Readonly<Record<string, string>> = {}, raw: unknown = record.experiment.raw): string => {
    const written = { ...record, experiment: { ...record.experiment, raw } };
    const dir = projectOf({ "runs/s/sweep.json": JSON.stringify(written), "data.csv": "1", ...changed });
    return codeOf([`${dir}/runs/s/sweep.json`], "/nowhere").trial;
  };
  expect(sweep({ "unrelated.ts": "export const x = 1;\n", "data.csv": "2" })).toBe(sweep());
  for (const name of ["lib/a.ts", "b.ts", "c.ts", "trial.ts"] as const)
    expect(sweep({ [name]: `${files[name]}// changed\n` }), name).not.toBe(sweep());
  // A config that is a program, which holds what is no data.
  expect(sweep({ "sweep.yaml": "changed" }, null)).not.toBe(sweep({ "sweep.yaml": "" }, null));
});

test("what is different is said of both sides", () => {
  const study = { hookline: "1.0.0", trial: "aaaaaaaaaaaa" };
  expect(codeDifference(study, { ...study })).toBeUndefined();
  expect(codeDifference(study, { hookline: "1.1.0", trial: "aaaaaaaaaaaa" })).toBe(
    "the study runs hookline 1.0.0 with trial code aaaaaaaaaaaa, this worker hookline 1.1.0 with trial code aaaaaaaaaaaa",
  );
  expect(codeDifference(study, { ...study, trial: "bbbbbbbbbbbb" })).toContain(
    "this worker hookline 1.0.0 with trial code b",
  );
});
