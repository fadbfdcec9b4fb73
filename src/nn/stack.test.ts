// stack(): names, initial values and outputs are those of its parts; what does not fit is an error.
import { numpy as np } from "@jax-js/jax";
import { beforeAll, describe, expect, it } from "vitest";
import { ints, maxError, putAll, read, startWasm } from "../../tests/support/gradcheck.ts";
import type { Tensor } from "../core/model.ts";
import * as nn from "./index.ts";
import { visitPoints } from "./tap.ts";

beforeAll(startWasm);

const block = () => nn.residual(nn.sequential(nn.layerNorm(4), nn.linear(4, 4), nn.tanh()));
const head = () => nn.sequential(nn.layerNorm(4), nn.linear(4, 7, { bias: false }));
const options = { embed: nn.embedding(7, 4), block: block(), count: 3, head: head() };
const ctx = () => ({ train: false, state: {}, loader: "", key: nn.keyStream(np.array(new Uint32Array(2))) });
const ids = ints([1, 0, 6, 3], [2, 2]);

describe("stack", () => {
  it("names its parameters by part, and by layer", () => {
    const names = Object.keys(nn.stack(options).init(nn.initKey(0)));
    const layer = (i: number) => ["0.weight", "0.bias", "1.weight", "1.bias"].map((name) => `layers.${i}.${name}`);
    expect(names).toEqual([
      "embed.weight",
      ...[0, 1, 2].flatMap(layer),
      "head.0.weight",
      "head.0.bias",
      "head.1.weight",
    ]);
  });

  it("gives each layer parameters of its own", () => {
    const params = nn.stack(options).init(nn.initKey(0));
    expect(params["layers.0.1.weight"]!.data).not.toEqual(params["layers.1.1.weight"]!.data);
  });

  it("computes its embedding, each layer, then its head", () => {
    const model = nn.stack(options);
    const host = model.init(nn.initKey(1));
    const got = model.apply(putAll(host), putAll({ ids }).ids!, ctx()) as Tensor;
    const part = (prefix: string) =>
      putAll(
        Object.fromEntries(
          Object.entries(host).flatMap(([name, x]) =>
            name.startsWith(prefix) ? [[name.slice(prefix.length), x]] : [],
          ),
        ),
      );
    let hidden = options.embed.apply(part("embed."), putAll({ ids }).ids!, ctx()) as Tensor;
    for (const i of [0, 1, 2]) hidden = options.block.apply(part(`layers.${i}.`), hidden, ctx()) as Tensor;
    const expected = options.head.apply(part("head."), hidden, ctx()) as Tensor;
    expect(maxError(read(got), read(expected))).toBeLessThan(1e-6);
  });

  it("shares a parameter of its embedding with its head", () => {
    const tied = nn.stack({ ...options, tie: { "head.1.weight": "embed.weight" } });
    const host = tied.init(nn.initKey(1));
    expect(Object.keys(host)).not.toContain("head.1.weight");
    const untied = nn.stack(options);
    const got = tied.apply(putAll(host), putAll({ ids }).ids!, ctx()) as Tensor;
    const copied = { ...untied.init(nn.initKey(1)), ...host, "head.1.weight": host["embed.weight"]! };
    const expected = untied.apply(putAll(copied), putAll({ ids }).ids!, ctx()) as Tensor;
    expect(maxError(read(got), read(expected))).toBeLessThan(1e-6);
  });

  it("shows its parts and layers to probes", () => {
    const points: string[] = [];
    const model = nn.stack({ ...options, block: nn.sequential(nn.linear(4, 4)) });
    const params = putAll(model.init(nn.initKey(0)));
    visitPoints(
      (name, x) => {
        points.push(name);
        return x;
      },
      () => model.apply(params, putAll({ ids }).ids!, ctx()),
    );
    expect(points).toEqual([
      "embed",
      "layers.0.0",
      "layers.0",
      "layers.1.0",
      "layers.1",
      "layers.2.0",
      "layers.2",
      "head.0",
      "head.1",
      "head",
    ]);
  });

  it.each([
    [{ ...options, block: nn.batchNorm(4) }, /stack: `block` has buffers/],
    [{ ...options, count: 0 }, /count/],
    [{ ...options, head: (() => 1) as never }, /head/],
    [{ ...options, depth: 3 } as never, /depth/],
  ])("refuses what does not fit", (given, message) => {
    expect(() => nn.stack(given)).toThrow(message);
  });

  it.each([
    [
      { "head.1.wait": "embed.weight" },
      /`tie` names `head\.1\.wait`, which is no parameter of `head`.*head\.1\.weight/,
    ],
    [{ "head.1.weight": "embed.wait" }, /no parameter of `embed`/],
    [{ "head.0.weight": "embed.weight" }, /`head\.0\.weight` \[4\] the same as `embed\.weight` \[7, 4\]/],
  ] as const)("refuses to tie what cannot be tied", (tie, message) => {
    expect(() => nn.stack({ ...options, tie }).init(nn.initKey(0))).toThrow(message);
  });
});
