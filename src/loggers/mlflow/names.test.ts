// Names and values as MLflow takes them.
import { expect, it } from "vitest";
import { paramsOf, safeName, tagsOf } from "./names.ts";

it("makes names that are paths which nothing shortens", () => {
  const cases = {
    "val/loss": "val/loss",
    "a|b(c)": "a_b_c_",
    "/a//b/": "a/b",
    "../a/./b": "__/a/_/b",
    "größe 1:2": "größe 1:2",
    "": "_",
    "//": "_",
  };
  for (const [name, safe] of Object.entries(cases)) expect(safeName(name)).toBe(safe);
  expect(safeName("x".repeat(300))).toHaveLength(250);
  expect(safeName(`${"x".repeat(249)}/y`)).toBe("x".repeat(249));
});

it("flattens parameters and cuts them", () => {
  const hparams = { lr: 0.1, optim: { name: "adam", betas: [0.9, 0.99], none: {} }, off: null, long: "x".repeat(300) };
  expect(paramsOf(hparams, 250)).toEqual([
    { key: "lr", value: "0.1" },
    { key: "optim.name", value: "adam" },
    { key: "optim.betas", value: "[0.9,0.99]" },
    { key: "optim.none", value: "{}" },
    { key: "off", value: "null" },
    { key: "long", value: `${"x".repeat(249)}…` },
  ]);
  expect(paramsOf({}, 250)).toEqual([]);
  expect(tagsOf({ "a|b": "y".repeat(6000) })[0]).toMatchObject({
    key: "a_b",
    value: expect.stringMatching(/^y{4999}…$/),
  });
});
