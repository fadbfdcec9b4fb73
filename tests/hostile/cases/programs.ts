// Models, losses and metrics that fail when they are traced: the error names the batch, the loader and the way out.
import { numpy as np } from "@jax-js/jax";
import { DataError, OptionError, ProgramError, type Tensor } from "hookline";
import * as nn from "hookline/nn";
import * as optim from "hookline/optim";
import { fit, four, loader, stream, trainer, wrong, type Case, type Cases } from "./case.ts";

const fails = (run: () => unknown, ...says: string[]): Case => ({ run, error: ProgramError, says });
const loss = (fn: (outputs: Tensor, y: Tensor) => unknown) => () => fit({ loss: fn });
const weight = { data: Float32Array.of(1, 2, 3), shape: [1, 3] };
const model = (apply: (p: { w: Tensor }, x: Tensor) => unknown) => () =>
  fit({ model: { init: () => ({ w: weight }), apply } });
const metric = (update: (outputs: Tensor) => unknown) => () => fit({ metrics: { mine: { update, compute: () => 0 } } });
const where = ["{ x: [4, 3], y: [4, 1] }", "loader `train`"];

export const programs: Cases = {
  "loss: not a scalar": fails(
    loss((o, y) => o.sub(y)),
    "scalar",
    "[4, 1]",
    ".mean()",
  ),
  "loss: a number": fails(
    loss(() => 3),
    "`3` (number)",
    "x.mean()",
  ),
  "loss: undefined": fails(
    loss(() => undefined),
    "`undefined`",
    "x.mean()",
  ),
  "loss: a promise": fails(
    loss(async (o, y) => o.sub(y).mean()),
    "Promise",
    "x.mean()",
  ),
  "loss: a factory not called": fails(loss(wrong(nn.mse)), "as in mse()?"),
  "loss: throws": fails(
    loss(() => {
      throw new TypeError("oh dear");
    }),
    "oh dear",
    ...where,
  ),
  "loss: throws a string": fails(
    loss(() => {
      throw wrong<Error>("oh dear");
    }),
    "oh dear",
    ...where,
  ),
  "loss: uses an array twice": fails(
    loss((o, y) => o.sub(y).mul(o).mean()),
    ...where,
    "x.ref",
  ),
  "batch: no x": fails(() => fit({ train: loader({ a: four.x, y: four.y }) }), "no field `x`", "a, y", "`inputs:"),
  "batch: no y": fails(() => fit({ train: loader({ x: four.x }) }), "mse", "no `y`"),
  "batch: no y for labels": fails(
    () => fit({ loss: nn.crossEntropy(), train: loader({ x: four.x }) }),
    "crossEntropy",
    "no `y`",
  ),
  "inputs: a field that is not there": fails(
    () => fit({ inputs: (batch: Record<string, Tensor>) => batch.ids }),
    "inputs",
  ),
  "tokens: a field that is not there": {
    run: () => fit({ tokens: (batch: typeof four) => wrong<{ ids: Tensor }>(batch).ids.shape[0] }),
    error: OptionError,
    says: ["tokens"],
  },
  "tokens: not a number": {
    run: () => fit({ tokens: () => "many", epochs: 3 }),
    error: OptionError,
    says: ["tokens", '"many"'],
  },
  "model: wrong feature size": fails(() => fit({ model: nn.linear(4, 1) }), "linear(4, 1)", "[4, 3]", ...where),
  "model: wrong feature size in mid-run": fails(
    () => fit({ train: stream([four, { x: { data: new Float32Array(8), shape: [4, 2] }, y: four.y }]) }),
    "linear(3, 1)",
    "{ x: [4, 2], y: [4, 1] }",
    "loader `train`",
  ),
  "model: wrong feature size in evaluation": fails(
    () => fit({ eval: loader({ x: { data: new Float32Array(8), shape: [4, 2] }, y: four.y }) }),
    "linear(3, 1)",
    "{ x: [4, 2], y: [4, 1] }",
    "loader `val`",
  ),
  "model: floats for an embedding": fails(
    () => fit({ model: nn.embedding(4, 1) }),
    "embedding(4, 1)",
    "whole numbers",
    "float32",
  ),
  "model: throws": fails(
    model(() => {
      throw new RangeError("deep inside");
    }),
    "deep inside",
    ...where,
  ),
  "model: throws undefined": fails(
    model(() => {
      throw wrong<Error>(undefined);
    }),
    "undefined",
    ...where,
  ),
  "model: uses an array twice": fails(
    model((p, x) => np.inner(x, p.w).add(x.sum(1).reshape([4, 1]))),
    ...where,
    "x.ref",
  ),
  "model: shapes that do not fit": fails(
    model((p, x) => np.matmul(x, p.w)),
    "[3] != [1]",
    ...where,
  ),
  "model: returns nothing": fails(
    model(() => undefined),
    "apply",
    "undefined",
  ),
  "model: returns a promise": fails(
    model(async (p, x) => np.inner(x, p.w)),
    "apply",
    "Promise",
  ),
  "model: init throws": {
    run: () =>
      trainer({
        model: {
          init() {
            throw new RangeError("no room");
          },
          apply: (_: unknown, x: Tensor) => x,
        },
      }),
    error: ProgramError,
    says: ["init", "no room"],
  },
  "model: init gives numbers": {
    run: () => fit({ model: { init: () => ({ w: [1, 2] }), apply: (_: unknown, x: Tensor) => x } }),
    error: DataError,
    says: ["init", "`w`"],
  },
  "model: no parameters": {
    run: () => fit({ model: { init: () => ({}), apply: (_: unknown, x: Tensor) => x.sum(1).reshape([4, 1]) } }),
    error: OptionError,
    says: ["no parameters"],
  },
  "metric: throws": fails(
    metric(() => {
      throw new Error("no such metric");
    }),
    "no such metric",
    "`mine`",
    ...where,
  ),
  "metric: not sums": fails(
    metric(() => 3),
    "`mine`",
    "`3` (number)",
  ),
  "metric: a number as a sum": fails(
    metric(() => ({ count: 3 })),
    "`mine`",
    "`count`",
    "`3` (number)",
  ),
  "metric: not a scalar": fails(
    metric((o) => ({ total: o })),
    "`mine`",
    "`total`",
    "[4, 1]",
    "scalar",
  ),
  "metric: named loss": {
    run: () => fit({ metrics: { loss: nn.mae() } }),
    error: OptionError,
    says: ["`metrics.loss`"],
  },
  "plateau: an unknown metric": {
    run: () => fit({ schedule: optim.plateau({ monitor: "val/los" }), eval: loader() }),
    error: OptionError,
    says: ["val/los", "val/loss"],
  },
};
