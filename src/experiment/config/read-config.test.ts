import { describe, expect, it } from "vitest";
import { messageOf, read, valueOf } from "../../../tests/support/config-files.ts";

const EXPECTED = {
  name: "digits",
  epochs: 5,
  optimizer: { use: "adamw", lr: 0.001, betas: [0.9, 0.999] },
  hooks: [{ use: "earlyStopping", patience: 3 }, "progressBar"],
  clip: false,
};

const YAML = `name: digits
epochs: 5
optimizer: { use: adamw, lr: 1e-3, betas: [0.9, 0.999] }
hooks:
  - use: earlyStopping
    patience: 3
  - progressBar
clip: false
`;

const TOML = `name = "digits"
epochs = 5
hooks = [{ use = "earlyStopping", patience = 3 }, "progressBar"]
clip = false
[optimizer]
use = "adamw"
lr = 1e-3
betas = [0.9, 0.999]
`;

describe("formats", () => {
  it.each([
    ["hookline.yaml", YAML],
    ["hookline.yml", YAML],
    ["HOOKLINE.YAML", YAML],
    ["hookline.json", JSON.stringify(EXPECTED, null, 2)],
    ["hookline.toml", TOML],
    ["hookline.ts", `const config: object = ${JSON.stringify(EXPECTED)}; export default config;`],
    ["hookline.mjs", `export default async () => (${JSON.stringify(EXPECTED)});`],
    ["hookline.yaml", `\uFEFF${YAML}`],
    ["hookline.yaml", YAML.replaceAll("\n", "\r\n")],
  ])("reads %s", async (name, text) => {
    expect(await valueOf({ [name]: text })).toEqual(EXPECTED);
  });

  it("names the extensions that it knows when it does not know one", async () => {
    const message = await messageOf(read({ "hookline.ini": "a=1" }));
    expect(message).toContain("hookline.ini");
    expect(message).toContain(".yaml, .yml, .json, .toml, .ts");
  });

  it("keeps functions and objects of a module as they are", async () => {
    const text = `class Own {}; export default { loss: (x) => x + 1, model: new Own(), data: new Float32Array(2), left: undefined };`;
    const value = (await valueOf({ "c.mjs": text })) as Record<string, unknown>;
    expect((value.loss as (x: number) => number)(1)).toBe(2);
    expect(value.model?.constructor.name).toBe("Own");
    expect(value.data).toBeInstanceOf(Float32Array);
    expect(Object.keys(value)).toEqual(["loss", "model", "data"]);
  });
});

describe("places", () => {
  it.each([
    ["c.yaml", YAML, [3, 26], [5, 5], [6, 5]],
    ["c.toml", TOML, [7, 1], [3, 10], [3, 35]],
    ["c.json", JSON.stringify(EXPECTED, null, 2), [6, 5], [13, 5], [15, 7]],
  ])("of keys and entries in %s", async (name, text, lr, hook, patience) => {
    const doc = await read({ [name]: text });
    const place = (path: (string | number)[]): unknown[] => {
      const { file, line, column } = doc.locate(path)!;
      return [file, line, column];
    };
    expect(place(["optimizer", "lr"])).toEqual([name, ...lr]);
    expect(place(["hooks", 0])).toEqual([name, ...hook]);
    expect(place(["hooks", 0, "patience"])).toEqual([name, ...patience]);
    expect(place(["optimizer", "lr", "missing"])).toEqual([name, ...lr]);
    expect(place(["missing"])).toEqual([name, 1, 1]);
  });

  it("are the file alone in a module", async () => {
    const doc = await read({ "c.mjs": "export default { a: { b: 1 } }" });
    expect(doc.locate(["a", "b"])).toEqual({ file: "c.mjs" });
  });

  it("know the directory of the file that names a module", async () => {
    const doc = await read({
      "c.yaml": "extends: ./shared/base.yaml\nhook: { threshold: 2 }\nloss: ./loss.ts#loss",
      "shared/base.yaml": "hook: { use: ./hook.ts#Hook, threshold: 1 }",
    });
    expect(doc.directoryOf(["hook"])).toBe(`${doc.project}/shared`);
    expect(doc.directoryOf(["hook", "threshold"])).toBe(doc.project);
    expect(doc.directoryOf(["loss"])).toBe(doc.project);
    expect(doc.directoryOf([])).toBe(doc.project);
  });
});

it("keeps variables as written for records", async () => {
  const doc = await read({ "c.yaml": "key: ${SECRET}\nlr: 1" }, { env: { SECRET: "hunter2" } });
  expect(doc.value).toEqual({ key: "hunter2", lr: 1 });
  expect(doc.raw).toEqual({ key: "${SECRET}", lr: 1 });
  expect(doc.file).toBe("c.yaml");
});

it("makes plain objects", async () => {
  const value = await valueOf({ "c.toml": "[a]\nb = 1" });
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect(Object.getPrototypeOf((value as { a: object }).a)).toBe(Object.prototype);
});
