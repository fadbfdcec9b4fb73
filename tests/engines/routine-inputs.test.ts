// Rows of a parameter, taken by ids and then moved about: forwards and backwards on every engine.
import { numpy as np } from "@jax-js/jax";
import { Trainer, type LossModel, type Tensor } from "hookline";
import { DataLoader } from "hookline/data";
import { sgd } from "hookline/optim";
import { describe, expect, test } from "vitest";

const ids = [3, 0, 3, 1, 2];
const table = Float32Array.from({ length: 8 }, (_, i) => Math.sin(i * 2.3) * 2);

/** What is made of the rows [5, 2]. */
const CASES: Record<string, (rows: Tensor) => Tensor> = {
  cumsum: (rows) => np.cumsum(rows, 0),
  pad: (rows) =>
    np.pad(rows, [
      [1, 2],
      [0, 1],
    ]),
  sort: (rows) => np.sort(rows, 0),
  "sort of what is turned": (rows) => np.sort(rows.transpose(), -1),
  flip: (rows) => np.flip(rows, 0),
  "a slice": (rows) => rows.slice([1, 4], []),
  "a sum": (rows) => rows.sum(0),
  "a stack": (rows) => np.stack([rows.ref, rows.mul(2)], 0),
};

const weights = (shape: readonly number[]): Tensor => {
  const length = shape.reduce((a, b) => a * b, 1);
  return np.array(
    Float32Array.from({ length }, (_, i) => (i % 5) + 1),
    { shape: [...shape] },
  );
};

/** The table after one step of plain SGD at rate 1. */
async function stepped(make: (rows: Tensor) => Tensor, engine: "wasm" | "native"): Promise<number[]> {
  const model: LossModel = {
    params: { table: { data: table.slice(), shape: [4, 2] } },
    loss({ table: param }, { x }) {
      const made = make(np.take(param!, x!, 0));
      const { shape } = made;
      return np.square(made).mul(weights(shape)).sum();
    },
  };
  await using trainer = new Trainer({
    model,
    optimizer: sgd({ lr: 1 }),
    train: new DataLoader({ x: Int32Array.from(ids) }, { batchSize: ids.length }),
    steps: 1,
    engine,
    signals: false,
  });
  await trainer.fit();
  return Array.from((await trainer.stateDict()).table!.data);
}

describe.each(Object.entries(CASES))("np.take, then %s", (_, make) => {
  test("trains on wasm as on native", async () => {
    const [wasm, native] = [await stepped(make, "wasm"), await stepped(make, "native")];
    expect(wasm).not.toEqual(Array.from(table));
    for (const [i, value] of native.entries()) expect(wasm[i]).toBeCloseTo(value, 4);
  });
});
