// Data: loaders that are empty, arrays that do not fit, streams that fail, state dicts of another model.
import { DataError, OptionError, ProgramError, type HostTensors, type Trainer } from "hookline";
import * as nn from "hookline/nn";
import { fit, four, loader, ownLoader, stream, trainer, wrong, type Case, type Cases } from "./case.ts";

const bad = (run: () => unknown, ...says: string[]): Case => ({ run, error: DataError, says });
const rows = (count: number, width: number) => ({ data: new Float32Array(count * width), shape: [count, width] });
const shaped = (shape: readonly number[], size = 4): unknown => ({ x: { data: new Float32Array(size), shape } });

const withState = (change: (state: HostTensors, t: Trainer) => unknown) => async () => {
  const t = trainer();
  await t.loadStateDict(wrong(change(await t.stateDict(), t)));
};

export const data: Cases = {
  "loader: no samples": bad(() => loader({ x: rows(0, 3), y: rows(0, 1) }), "DataLoader", "no samples"),
  "loader: dropLast drops the only batch": bad(
    () => loader(four, { batchSize: 8, dropLast: true }),
    "`dropLast`",
    "4 samples",
    "8",
  ),
  "loader: an empty stream": bad(() => fit({ train: stream([]) }), "ended before its first batch"),
  "loader: an empty asynchronous stream": bad(
    () => fit({ train: loader(async function* () {}, {}) }),
    "ended before its first batch",
  ),
  "loader: an empty stream for evaluation": bad(() => fit({ eval: stream([]) }), "ended before its first batch"),
  "loader: of the user's own, empty": bad(() => fit({ train: ownLoader(four, 0) }), "no batch in epoch 1"),
  "loader: of the user's own, shorter than it says": bad(
    () => fit({ train: ownLoader(four, 7) }),
    "`train`",
    "after 4 batches",
    "`length` is 7",
  ),
  "loader: a generator for two epochs": bad(
    () => fit({ epochs: 2, train: loader([four].values(), {}) }),
    "only once",
    "new DataLoader(() =>",
  ),
  "loader: x and y of different lengths": bad(
    () => loader({ x: four.x, y: rows(5, 1) }),
    "`x` has 4 samples",
    "`y` has 5",
  ),
  "loader: no batchSize": { run: () => loader(four, {}), error: OptionError, says: ["DataLoader", "`batchSize`"] },
  "loader: a bare array": bad(() => loader(new Float32Array(3)), "arrays by name such as { x, y }"),
  "loader: arrays of numbers": bad(() => loader({ x: [1, 2, 3] }), "`x`", "Float32Array"),
  "loader: BigInts": bad(() => loader({ x: new BigInt64Array(4) }), "`x`", "BigInt64Array"),
  "loader: a string in a sample": bad(
    () => fit({ train: loader([{ x: "a" }], { batchSize: 1 }) }),
    "sample 0",
    "`x`",
    "string",
  ),
  "loader: samples of different shapes": bad(
    () => fit({ train: loader([{ x: [1, 2, 3] }, { x: [1, 2] }], { batchSize: 2 }) }),
    "sample 1",
    "`x`",
    "[2]",
    "[3]",
    "`collate`",
  ),
  "shape: NaN": bad(() => loader(shaped([Number.NaN, 2])), "`x`", "[NaN, 2]", "whole number"),
  "shape: negative": bad(() => loader(shaped([-2, -2])), "`x`", "[-2, -2]", "whole number"),
  "shape: fractional": bad(() => loader(shaped([1.5, 2], 3)), "`x`", "[1.5, 2]", "whole number"),
  "shape: another size than the data": bad(() => loader(shaped([2, 3])), "`x`", "[2, 3] holds 6", "data has 4"),
  "batch: no arrays": bad(() => fit({ train: ownLoader({}) }), "`train`", "empty batch", "{ x, y }"),
  "batch: a number": bad(() => fit({ train: ownLoader({ x: 3, y: four.y }) }), "`train`", "`x`", "typed array"),
  "batch: null": bad(() => fit({ train: ownLoader(null) }), "`train`", "batch"),
  "batch: a shape that is no list": bad(
    () => fit({ train: ownLoader({ x: { data: new Float32Array(4), shape: 4 } }) }),
    "`train`",
    "`x`",
  ),
  "stream: rejects": bad(
    () =>
      fit({
        train: loader(async function* () {
          yield four;
          throw new Error("disk gone");
        }, {}),
      }),
    "stream failed after 1 item",
    "disk gone",
  ),
  "stream: rejects with a string": bad(
    () =>
      fit({
        train: loader(
          async function* () {
            yield four;
            throw wrong<Error>("disk gone");
          },
          { prefetch: 2 },
        ),
      }),
    "disk gone",
  ),
  "data set: a sample that cannot be read": bad(
    () =>
      fit({
        train: loader(
          {
            length: 8,
            get: (i: number) => (i === 5 ? Promise.reject(new Error("no file")) : { x: [1, 2, 3], y: [1] }),
          },
          { batchSize: 4, prefetch: 2 },
        ),
      }),
    "sample 5",
    "no file",
  ),
  "predict: an empty loader": bad(() => trainer().predict(stream([])), "ended before its first batch"),
  "predict: of the user's own, empty": bad(() => trainer().predict(ownLoader(undefined)), "no batches"),
  "predict: arrays": {
    run: () => trainer().predict(wrong(four)),
    error: OptionError,
    says: ["loader", "new DataLoader"],
  },
  "predict: nothing": {
    run: () => trainer().predict(wrong(undefined)),
    error: OptionError,
    says: ["loader", "undefined"],
  },
  "evaluate: arrays": {
    run: () => trainer().evaluate(wrong(four)),
    error: OptionError,
    says: ["loader", "new DataLoader"],
  },
  "evaluate: nothing": {
    run: () => trainer().evaluate(wrong(undefined)),
    error: OptionError,
    says: ["loader", "undefined"],
  },
  "evaluate: several loaders": {
    run: () => trainer().evaluate(wrong({ a: loader(), b: loader() })),
    error: OptionError,
    says: ["one loader"],
  },
  "evaluate: an empty loader": bad(() => trainer().evaluate(ownLoader(undefined)), "`test`", "no batches"),
  "state dict: a name is missing": bad(
    withState(({ weight }) => ({ weight })),
    "lacks bias",
  ),
  "state dict: a name too many": bad(
    withState((state) => ({ ...state, wieght: state.weight })),
    "`wieght`",
    "Did you mean `weight`?",
  ),
  "state dict: another shape": bad(
    withState((state) => ({ ...state, weight: state.bias })),
    "`weight`",
    "[1]",
    "[1, 3]",
  ),
  "state dict: arrays of numbers": bad(
    withState((state) => ({ ...state, weight: [1, 2, 3] })),
    "weight",
    "Float32Array",
  ),
  "state dict: null": bad(
    withState(() => null),
    "state dict",
    "null",
  ),
  "labels: floats": {
    run: () =>
      fit({ model: nn.linear(3, 2), loss: nn.crossEntropy(), train: loader({ x: four.x, y: new Float32Array(4) }) }),
    error: ProgramError,
    says: ["crossEntropy", "labels", "Int32Array", "float32"],
  },
  "labels: a dimension too many": {
    run: () =>
      fit({
        model: nn.linear(3, 2),
        loss: nn.crossEntropy(),
        train: loader({ x: four.x, y: { data: new Int32Array(4), shape: [4, 1] } }),
      }),
    error: ProgramError,
    says: ["crossEntropy", "[4, 2]", "[4, 1]"],
  },
  "targets: another shape": {
    run: () => fit({ train: loader({ x: four.x, y: new Float32Array(4) }) }),
    error: ProgramError,
    says: ["mse", "[4, 1]", "[4]", "same shape"],
  },
};
