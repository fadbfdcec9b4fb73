// Names and shapes fitted to a model.
import { describe, expect, it } from "vitest";
import { CheckpointError, OptionError } from "../../core/errors.ts";
import { matchTensors, renameTensors, type RenameOptions } from "./state-dict.ts";
import { stateDictIn } from "./torch/torch-checkpoint.ts";

const names = (tensors: Record<string, number>, options: RenameOptions) => ({
  ...renameTensors(tensors, options, "m.pt"),
});

describe("renaming", () => {
  it("takes off a prefix", () => {
    expect(names({ "module.0.weight": 1, "module.0.bias": 2 }, { prefix: "module." })).toEqual({
      "0.weight": 1,
      "0.bias": 2,
    });
    expect(() => names({ "module.a": 1, b: 2 }, { prefix: "module." })).toThrow('m.pt: tensor "b" does not begin');
    expect(names({ "module.a": 1, b: 2 }, { prefix: "module.", strict: false })).toEqual({ a: 1 });
  });

  it("renames whole names and everything below a part, the longest match first", () => {
    const tensors = { "enc.0.w": 1, "enc.0.b": 2, "enc.1.w": 3, encoder: 4, head: 5 };
    expect(names(tensors, { rename: { enc: "blocks", "enc.0.b": "first.bias", head: "out" } })).toEqual({
      "blocks.0.w": 1,
      "first.bias": 2,
      "blocks.1.w": 3,
      encoder: 4,
      out: 5,
    });
  });

  it("renames by a function, which may leave tensors out", () => {
    expect(names({ a: 1, b: 2 }, { rename: (name) => (name === "a" ? undefined : `module.${name}`) })).toEqual({
      "module.b": 2,
    });
  });

  it("says what is wrong", () => {
    expect(() => names({ weight: 1 }, { rename: { wieght: "w" } })).toThrow(
      'names "wieght", which is not there. Correct it, or use strict: false. Did you mean `weight`?',
    );
    expect(names({ weight: 1 }, { rename: { wieght: "w" }, strict: false })).toEqual({ weight: 1 });
    expect(() => names({ a: 1, b: 2 }, { rename: { a: "b" } })).toThrow('two tensors would be named "b"');
    expect(() => names({ a: 1 }, { prefx: "a" } as RenameOptions)).toThrow(OptionError);
    expect(() => names({ a: 1 }, { rename: () => 3 as unknown as string })).toThrow(OptionError);
  });

  it("keeps names that are properties of every object", () => {
    expect(
      names(
        Object.fromEntries([
          ["constructor", 1],
          ["toString", 2],
        ]),
        { rename: {} },
      ),
    ).toEqual({
      constructor: 1,
      toString: 2,
    });
  });
});

describe("comparing with a model", () => {
  const shape = (...dimensions: number[]) => ({ shape: dimensions });
  const own = { a: shape(2, 3), b: shape() };

  it("gives the tensors in the model's order", () => {
    const match = matchTensors({ b: shape(), a: shape(2, 3) }, own);
    expect(Object.keys(match.tensors)).toEqual(["a", "b"]);
    expect(match).toMatchObject({ missing: [], unexpected: [] });
  });

  it("refuses missing and unexpected ones, or lists them", () => {
    const tensors = { a: shape(2, 3), c: shape(1) };
    expect(() => matchTensors(tensors, own, {}, "m.pt")).toThrow(
      'm.pt: lacks "b" and has "c", which the model does not. Use `prefix`',
    );
    const match = matchTensors(tensors, own, { strict: false });
    expect({ ...match.tensors }).toEqual({ a: shape(2, 3) });
    expect(match).toMatchObject({ missing: ["b"], unexpected: ["c"] });
  });

  it("lists a few names, not thousands", () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`t${i}`, shape()]));
    expect(() => matchTensors({}, many)).toThrow('lacks "t0", "t1", "t2", "t3", "t4" and 995 more');
  });

  it("refuses another shape even when it is not strict", () => {
    expect(() => matchTensors({ a: shape(3, 2), b: shape() }, own, { strict: false }, "m.pt")).toThrow(
      'm.pt: tensor "a" has shape [3, 2], and the model wants [2, 3]',
    );
    expect(() => matchTensors({ a: shape(3, 2), b: shape() }, own)).toThrow(CheckpointError);
  });
});

describe("the state dict in a checkpoint", () => {
  const weights = { w: { dtype: "U8" as const, shape: [1], bytes: new Uint8Array(1) } };

  it("is the whole of it, or a part", () => {
    expect(stateDictIn(weights, "m.pt")).toBe(weights);
    expect(stateDictIn({ model: weights, epoch: 3 }, "m.pt", "model")).toBe(weights);
  });

  it("says which parts there are", () => {
    const checkpoint = { model: weights, ema: weights, epoch: 3, state: new Map([[0, 1]]) };
    expect(() => stateDictIn(checkpoint, "m.pt")).toThrow(
      'm.pt: it holds more than tensors. Say which part to take: "model", "ema".',
    );
    expect(() => stateDictIn(checkpoint, "m.pt", "net")).toThrow('it has no tensors under "net"');
    expect(() => stateDictIn(3, "m.pt")).toThrow("It has no part that is a state dict");
    expect(() => stateDictIn({}, "m.pt", "constructor")).toThrow(CheckpointError);
  });
});
