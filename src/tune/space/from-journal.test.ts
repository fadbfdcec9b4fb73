import { expect, it } from "vitest";
import { describeSpace } from "../study-state.ts";
import { choice } from "./choice.ts";
import { spaceFromJournal } from "./from-journal.ts";
import { int } from "./int.ts";
import { logUniform } from "./log-uniform.ts";
import { Space } from "./space.ts";
import { uniform } from "./uniform.ts";

it("makes the space that was described", () => {
  const space = new Space({
    seed: 1,
    lr: logUniform(1e-4, 1e-1),
    width: int(4, 64, { log: true }),
    layers: int(1, 9, { step: 2 }),
    optimizer: choice([{ use: "sgd", momentum: uniform(0, 1) }, { use: "adamw" }, "none"]),
    sizes: choice([[1, 2], [3]]),
  });
  const described = describeSpace(space.root);
  const again = spaceFromJournal(JSON.parse(JSON.stringify(described)));
  expect(describeSpace(again.root)).toEqual(described);
  const params = space.fromUnit(space.parameters.map((_, i) => (i + 0.3) / 8));
  expect(again.toUnit(params)).toEqual(space.toUnit(params));
});

it("knows a linear whole number from a logarithmic one", () => {
  const [linear, log] = [int(4, 64), int(4, 64, { log: true })].map((width) => new Space({ width }));
  expect(describeSpace(linear!.root)).not.toEqual(describeSpace(log!.root));
});
