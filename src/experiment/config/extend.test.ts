import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { messageOf, projectOf, read, valueOf, type Files } from "../../../tests/support/config-files.ts";
import { readConfig } from "./read-config.ts";

it("merges maps, replaces lists and other components, and forgets `extends`", async () => {
  const files = {
    "c.yaml": `
extends: ./base.yaml
optimizer: { use: adamw, lr: 1 }
schedule: { use: step, gamma: 2 }
loss: { smoothing: 0.1 }
model: sequential
hooks: [b]
loader: { batchSize: 2 }
epochs: null
`,
    "base.yaml": `
name: base
epochs: 3
optimizer: { use: adamw, lr: 2, weightDecay: 3 }
schedule: { use: cosine, warmup: 5% }
loss: crossEntropy
model: { use: sequential, layers: [relu] }
hooks: [a, a]
loader: { batchSize: 1, shuffle: true }
`,
  };
  expect(await valueOf(files)).toEqual({
    name: "base",
    epochs: null,
    optimizer: { use: "adamw", lr: 1, weightDecay: 3 },
    schedule: { use: "step", gamma: 2 },
    loss: { use: "crossEntropy", smoothing: 0.1 },
    model: { use: "sequential", layers: ["relu"] },
    hooks: ["b"],
    loader: { batchSize: 2, shuffle: true },
  });
});

it("takes the same text in another directory for another module", async () => {
  const files = {
    "c.yaml": "extends: ./sub/base.yaml\nhook: { use: ./h.ts#H }",
    "sub/base.yaml": "hook: { use: ./h.ts#H, old: 1 }",
  };
  expect(await valueOf(files)).toEqual({ hook: { use: "./h.ts#H" } });
});

it("lets later ones of a list win, across formats, and fills variables in", async () => {
  const files = {
    "c.yaml": "extends: [./a.toml, './${KIND}.json', c.mjs]\nown: 1",
    "a.toml": "x = 1\ny = 1\nz = 1",
    "b.json": '{ "y": 2, "z": 2 }',
    "c.mjs": "export default { z: 3 }",
  };
  expect(await valueOf(files, { env: { KIND: "b" } })).toEqual({ x: 1, y: 2, z: 3, own: 1 });
});

it("extends along a chain, each relative to its own file", async () => {
  const files = {
    "c.yaml": "extends: ./sub/b.yaml",
    "sub/b.yaml": "extends: ./deep/a.yaml\nb: 1",
    "sub/deep/a.yaml": "extends: ../../root.yaml\na: 1",
    "root.yaml": "root: 1",
  };
  const doc = await read(files);
  expect(doc.value).toEqual({ root: 1, a: 1, b: 1 });
  expect(doc.locate(["a"])).toEqual({ file: "sub/deep/a.yaml", line: 2, column: 1 });
});

const chain = (length: number): Files =>
  Object.fromEntries(
    Array.from({ length }, (_, i) => [`f${i}.yaml`, i + 1 < length ? `extends: f${i + 1}.yaml` : "a: 1"]),
  );
const bush = Object.fromEntries(
  Array.from({ length: 8 }, (_, i) => [`f${i}.yaml`, i < 7 ? `extends: [f${i + 1}.yaml, f${i + 1}.yaml]` : "a: 1"]),
);

it.each<[string, Files, string, string]>([
  ["itself", { "c.yaml": "a: 1\nextends: ./c.yaml" }, "c.yaml:2:10: extends: ", "c.yaml → c.yaml"],
  [
    "a cycle",
    { "a.yaml": "extends: b.yaml", "b.yaml": "extends: sub/c.yaml", "sub/c.yaml": "\nextends: [../a.yaml]" },
    "sub/c.yaml:2:11: extends.0: ",
    "a.yaml → b.yaml → sub/c.yaml → a.yaml",
  ],
  [
    "no file",
    { "c.yaml": "extends: [b.yaml, ./bse.yaml]", "b.yaml": "a: 1", "base.yaml": "" },
    "c.yaml:1:19: extends.1: ",
    "Did you mean `base.yaml`?",
  ],
  ["a number", { "c.json": '{ "extends": 5 }' }, "c.json:1:14: extends: ", "got `5` (number)"],
  ["a map", { "c.yaml": "extends: { a: b }" }, "c.yaml:1:10: extends: ", "Expected the path"],
  ["an absolute path", { "c.yaml": "extends: /etc/passwd" }, "c.yaml:1:10: extends: ", "absolute"],
  ["what is outside", { "c.toml": 'extends = "../../x.yaml"' }, "c.toml:1:11: extends: ", "leaves the project"],
  ["a directory", { "c.yaml": "extends: ./d.yaml", "d.yaml/x": "" }, "c.yaml:1:10: extends: ", "a directory"],
  ["another kind of file", { "c.yaml": "extends: ./d.txt", "d.txt": "" }, "c.yaml:1:10: extends: ", ".toml"],
  ["too long a chain", chain(30), "f19.yaml:1:10: extends: ", "More than 20 files"],
  ["too many files", bush, "extends.", "at most 100 files"],
  ["a file with an error", { "c.yaml": "extends: b.yaml", "b.yaml": "a: 1\na: 2" }, "b.yaml:2:1: a: ", "twice"],
])("refuses %s", async (_, files, where, what) => {
  const message = await messageOf(read(files));
  expect(message).toContain(where);
  expect(message).toContain(what);
});

it("sees through links", async () => {
  const dir = projectOf({ "c.yaml": "extends: link.yaml" });
  symlinkSync(join(dir, "c.yaml"), join(dir, "link.yaml"));
  expect(await messageOf(readConfig("c.yaml", { cwd: dir }))).toContain("extend each other");
  const outside = projectOf({ "c.yaml": "extends: link.yaml" });
  symlinkSync(join(dir, "c.yaml"), join(outside, "link.yaml"));
  expect(await messageOf(readConfig("c.yaml", { cwd: outside }))).toContain("leaves the project");
});
