import { grad, init, numpy as np } from "@jax-js/jax";
import { beforeAll, expect, test } from "vitest";
import type { Tensor } from "../../core/model.ts";
import { trace } from "./trace.ts";

beforeAll(async () => void (await init("wasm")));

test("a constant is read only if something uses it: not the zeros that stand for the derivative of what is fixed", () => {
  const avals = [
    { shape: [8], dtype: "float32" as const },
    { shape: [1000, 8], dtype: "float32" as const },
  ];
  const fixed = (w: Tensor, table: Tensor): Tensor =>
    grad((v: Tensor) =>
      np
        .square(np.matmul(table, v))
        .add(np.array([3]))
        .sum(),
    )(w);
  const { constants } = trace(fixed, avals);
  // They were made: without them this test would show nothing.
  expect(constants).toContain(undefined);
  expect(Math.max(0, ...constants.map((data) => data?.length ?? 0))).toBeLessThan(8000);
});
