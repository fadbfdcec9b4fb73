// How much memory a plan needs.
import { grad, init, nn, numpy as np } from "@jax-js/jax";
import { beforeAll, expect, test } from "vitest";
import { f32, lowered } from "../../../../tests/support/lowered.ts";
import type { Tensor, Tensors } from "../../../core/model.ts";
import type { Graph } from "../../lower/graph.ts";
import { planGraph } from "./plan.ts";

beforeAll(async () => void (await init("wasm")));

const [batch, tokens, width, heads] = [2, 8, 32, 4];

/** The gradients of an attention's projections, each split into heads; `groups` heads share a key and a value. */
function attention(groups: number): Graph {
  const shared = heads / groups;
  const size = width / heads;
  const split = (y: Tensor, count: number): Tensor => y.reshape([batch, tokens, count, size]).transpose([0, 2, 1, 3]);
  const loss = (x: Tensor, { q, k, v }: Tensors): Tensor => {
    const project = (weight: Tensor, count: number): Tensor => split(np.matmul(x.ref, weight.transpose()), count);
    const asked = project(q!, heads).reshape([batch, shared, groups * tokens, size]);
    const scores = nn.softmax(np.matmul(asked, project(k!, shared).transpose([0, 1, 3, 2])), -1);
    return np.square(np.matmul(scores, project(v!, shared))).sum();
  };
  const backward = (x: Tensor, q: Tensor, k: Tensor, v: Tensor): Tensor[] => {
    const gradient = grad(((at: Tensors) => loss(x, at)) as never) as unknown as (at: Tensors) => Tensors;
    return Object.values(gradient({ q, k, v }));
  };
  const keys = f32(shared * size, width);
  return lowered(backward, f32(batch, tokens, width), f32(width, width), keys, keys);
}

test.each([
  [1, 1],
  [1, 2],
  [2, 1],
  [2, 2],
])("weights of projections into heads (%i to a group), %i threads: nothing larger than they are", (groups, threads) => {
  const { buffers } = planGraph(attention(groups), threads);
  expect(Math.max(...buffers.map(({ length }) => length))).toBeLessThanOrEqual(threads * width * width);
});
