// Points have the dotted names of their layers, and without a visitor a tap is nothing.
import { makeJaxpr, numpy as np } from "@jax-js/jax";
import { beforeAll, describe, expect, it } from "vitest";
import { context, noise, put, putAll, read, startWasm } from "../../tests/support/gradcheck.ts";
import type { Model, Tensor, Tensors } from "../core/model.ts";
import { pointNames } from "../trainer/programs/probes.ts";
import * as nn from "./index.ts";
import { tap, visitPoints } from "./tap.ts";

beforeAll(startWasm);

const apply = (model: Model<Tensor>, x: Tensor, params = putAll(model.init(nn.initKey(0)))): void => {
  const result = model.apply(params, x, context(false, putAll(model.initState?.() ?? {})));
  const outputs = Array.isArray(result) ? result[0] : result;
  for (const y of typeof outputs.dispose === "function" ? [outputs] : Object.values(outputs)) (y as Tensor).dispose();
};
const points = (model: Model<Tensor>, shape: number[] = [2, 3, 8]): string[] =>
  pointNames(() => apply(model, put(noise(shape))));

describe("names", () => {
  it("are positions in a sequential, and nest", () => {
    const inner = nn.sequential(nn.linear(8, 8), nn.tanh());
    expect(points(nn.sequential(inner, nn.relu()))).toEqual(["0.0", "0.1", "0", "1"]);
    expect(points(nn.sequential({ body: inner, act: nn.relu() }))).toEqual(["body.0", "body.1", "body", "act"]);
  });

  it("are the children of a block, in the order of its forward function", () => {
    const model = nn.block(
      { b: nn.linear(8, 8), a: nn.relu(), own: (key) => key.normal([8], 0, 1) },
      ({ a, b, own }, x: Tensor) => a(b(x)).add(own()),
    );
    expect(points(model)).toEqual(["b", "a"]);
  });

  it("go through residual, which shows its branch", () => {
    expect(points(nn.sequential({ r: nn.residual(nn.sequential(nn.relu(), nn.linear(8, 8))) }))).toEqual([
      "r.0",
      "r.1",
      "r.branch",
      "r",
    ]);
    expect(points(nn.sequential({ r: nn.residual(nn.batchNorm(3)) }))).toEqual(["r.branch", "r"]);
  });

  it("of attention are its parts", () => {
    const parts = ["q", "k", "v", "scores", "pattern", "z"];
    expect(points(nn.sequential({ attn: nn.multiHeadAttention(8, 2, { causal: true }) }))).toEqual([
      ...parts.map((part) => `attn.${part}`),
      "attn",
    ]);
  });

  it("count the calls of a layer that is used twice", () => {
    const model = nn.block({ twice: nn.sequential(nn.linear(8, 8)) }, ({ twice }, x: Tensor) => twice(twice(x)));
    expect(points(model)).toEqual(["twice.0", "twice", "twice.0#2", "twice#2"]);
  });

  it("are by key for a child with several outputs", () => {
    const pair: Model<Tensor, Tensors> = {
      init: () => ({}),
      apply: (_, x) => ({ x: x.ref, y: tap("half", x.mul(0.5)) }),
    };
    const model = nn.block({ pair }, ({ pair: both }, x: Tensor) => {
      const { x: a, y: b } = both(x);
      return a!.add(b!);
    });
    expect(points(model)).toEqual(["pair.half", "pair.x", "pair.y"]);
  });

  it("start afresh after a failure", () => {
    const failing: Model<Tensor, Tensor> = {
      init: () => ({}),
      apply() {
        throw new Error("as planned");
      },
    };
    expect(() => points(nn.sequential({ deep: nn.sequential(failing) }))).toThrow("as planned");
    expect(points(nn.sequential(nn.relu()))).toEqual(["0"]);
  });
});

describe("with nobody asking", () => {
  const plain: Model<Tensor, Tensor> = {
    init: () => ({}),
    apply: (_, x) => np.tanh(np.square(x)),
  };
  const tapped: Model<Tensor, Tensor> = {
    init: () => ({}),
    apply: (_, x) => tap("out", np.tanh(tap("square", np.square(x)))),
  };
  const text = (model: Model<Tensor, Tensor>): string => {
    const forward = (x: Tensor): Tensor => model.apply({}, x, context()) as Tensor;
    const { jaxpr } = makeJaxpr(forward)(np.zeros([2, 3]));
    return jaxpr.toString();
  };

  it("the program is that of the model without taps", () => {
    expect(text(tapped)).toBe(text(plain));
    expect(text(plain)).toContain("mul");
  });

  it("a tap returns the very array", () => {
    const x = put(noise([2]));
    expect(tap("x", x)).toBe(x);
    x.dispose();
  });
});

it("what the visitor returns flows on", () => {
  const model = nn.sequential(nn.relu(), nn.tanh());
  const zeroed = visitPoints(
    (name, x) => (name === "0" ? x.mul(0) : x),
    () => model.apply({}, put(noise([4])), context()) as Tensor,
  );
  expect(read(zeroed).map(Math.abs)).toEqual([0, 0, 0, 0]);
});
