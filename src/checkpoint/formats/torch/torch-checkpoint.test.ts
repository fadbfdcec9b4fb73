// Full checkpoints of PyTorch's making, with optimizers. tests/interop/optimizer-torch has PyTorch itself train on from ours.
import { describe, expect, it } from "vitest";
import { CheckpointError } from "../../../core/errors.ts";
import type { TorchLayout } from "../../../core/optimizer.ts";
import { adam, adamw as adamwOptimizer, lion, rmsprop, sgd as sgdOptimizer } from "../../../optim/index.ts";
import { decodePt, encodePt } from "./pt.ts";
import type { FileTensor, FileTensors } from "../tensor.ts";
import { decodeTorchCheckpoint, encodeTorchCheckpoint, weightsIn } from "./torch-checkpoint.ts";
import type { TorchOptimizer } from "./torch-optimizer.ts";
import { type PtValue, asTuple, isTuple } from "./pickle-writer.ts";

const floats = (shape: number[], value = 1): FileTensor => ({
  dtype: "F32",
  shape,
  bytes: new Uint8Array(new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(value).buffer),
});

const model: FileTensors = { "0.weight": floats([2, 3]), "0.bias": floats([2]), "1.running_mean": floats([2]) };
const params = ["0.weight", "0.bias"];
const slots = (...names: string[]): FileTensors =>
  Object.fromEntries(
    names.flatMap((slot, i) => params.map((param) => [`${slot}/${param}`, floats([...model[param]!.shape], i + 2)])),
  );
const adamw: TorchOptimizer = {
  name: "optimizer",
  kind: "adamw",
  groups: [
    { params: ["0.weight"], values: { lr: 1e-3, weightDecay: 0.01, betas: [0.9, 0.999], eps: 1e-8 } },
    { params: ["0.bias"], values: { lr: 1e-4, weightDecay: 0, betas: [0.9, 0.999], eps: 1e-8 } },
  ],
  updates: 7,
  slots: slots("exp_avg", "exp_avg_sq"),
};
const sgd: TorchOptimizer = {
  name: "optimizer",
  kind: "sgd",
  groups: [{ params, values: { lr: 0.1, weightDecay: 0, momentum: 0.9, dampening: 0, nesterov: true } }],
  updates: 7,
  slots: slots("momentum_buffer"),
};
/** What the built-in optimizers say of themselves; another has no layout of its own. */
const LAYOUTS: Readonly<Record<string, TorchLayout | undefined>> = Object.fromEntries(
  [adam(), adamwOptimizer(), lion(), rmsprop(), sgdOptimizer()].map(({ name, torch }) => [name, torch]),
);
const written = (...optimizers: TorchOptimizer[]) => {
  const described = optimizers.map((each) => ({ layout: LAYOUTS[each.kind], ...each }));
  const bytes = encodeTorchCheckpoint({ model, optimizers: described, step: 9, epoch: 2 });
  return decodePt(bytes, "c.pt") as Record<string, PtValue>;
};
const namesOf = ({ groups }: TorchOptimizer) => groups.map((group) => group.params);

describe("written", () => {
  it("have PyTorch's keys, parameters numbered through the groups, and tuples for betas", () => {
    const { optimizer, ...rest } = written(adamw) as { optimizer: Record<string, PtValue> };
    expect(rest).toEqual({ model, epoch: 2, step: 9 });
    const group = {
      betas: [0.9, 0.999],
      eps: 1e-8,
      amsgrad: false,
      maximize: false,
      foreach: null,
      capturable: false,
      differentiable: false,
      fused: null,
      decoupled_weight_decay: true,
    };
    expect(optimizer).toEqual({
      state: new Map(
        params.map((param, i) => [
          i,
          {
            step: floats([], 7),
            exp_avg: adamw.slots[`exp_avg/${param}`],
            exp_avg_sq: adamw.slots[`exp_avg_sq/${param}`],
          },
        ]),
      ),
      param_groups: [
        { ...group, lr: 1e-3, weight_decay: 0.01, params: [0] },
        { ...group, lr: 1e-4, weight_decay: 0, params: [1] },
      ],
    });
    const [{ betas }] = optimizer.param_groups as unknown as [{ betas: number[] }];
    expect(isTuple(betas)).toBe(true);
  });

  it("have no step for SGD, as there, and no state before the first update", () => {
    expect((written(sgd).optimizer as { state: unknown }).state).toEqual(
      new Map(params.map((param, i) => [i, { momentum_buffer: sgd.slots[`momentum_buffer/${param}`] }])),
    );
    expect(written({ ...adamw, updates: 0 }).optimizer).toMatchObject({ state: {} });
    expect(written()).not.toHaveProperty("optimizer");
  });

  it("keep several optimizers by name, and kinds that PyTorch does not have", () => {
    const lion = { ...adamw, name: "lion", kind: "lion", slots: slots("exp_avg") };
    const other = {
      ...adamw,
      name: "mine",
      kind: "mine",
      groups: [{ params, values: { lr: 1, weightDecay: 0, rho: 2 } }],
    };
    expect(written(lion, other).optimizer).toMatchObject({
      lion: { param_groups: [{ betas: [0.9, 0.999] }, {}] },
      mine: { param_groups: [{ lr: 1, weight_decay: 0, rho: 2, params: [0, 1] }] },
    });
  });

  it.each<[string, TorchOptimizer, string]>([
    ["a hyperparameter is missing", { ...sgd, kind: "adam" }, 'a group lacks "betas", which adam has'],
    ["a slot is of no parameter", { ...sgd, slots: { "exp_avg/9.weight": floats([2]) } }, '"exp_avg/9.weight" is no'],
    ["a shape is wrong", { ...sgd, slots: { "exp_avg/0.bias": floats([3]) } }, "its exp_avg has shape [3], and"],
  ])("are refused when %s", (_name, optimizer, says) => {
    expect(() => written(optimizer)).toThrow(CheckpointError);
    expect(() => written(optimizer)).toThrow(says);
  });
});

describe("read", () => {
  it.each([adamw, sgd])("gives back what was written", (optimizer) => {
    const file = encodeTorchCheckpoint({ model, optimizers: [optimizer], step: 7, epoch: 2 });
    const read = decodeTorchCheckpoint(file, "c.pt", { paramNames: namesOf(optimizer) });
    const { kind: _, ...expected } = optimizer;
    expect(read).toMatchObject({ model, step: 7, epoch: 2, optimizers: [expected] });
  });

  const { optimizer: state } = written(adamw) as { optimizer: Record<string, PtValue> };
  const paramNames = namesOf(adamw);
  const layouts: [string, PtValue][] = [
    ["as most do", { model, optimizer: state, epoch: 2, step: 9 }],
    ["as PyTorch's tutorial", { model_state_dict: model, optimizer_state_dict: state, epoch: 2, iteration: 9 }],
    ["as Lightning", { state_dict: model, optimizer_states: [state], epoch: 2, global_step: 9 }],
    ["by name", { net: model, optimizer: { main: state }, epoch: 2, step: floats([], 9) }],
  ];
  it.each(layouts)("checkpoints laid out %s", (_name, value) => {
    const read = decodeTorchCheckpoint(encodePt(value), "c.pt", { paramNames });
    expect(read).toMatchObject({ model, epoch: 2, step: 9, optimizers: [{ updates: 7 }] });
    expect(decodeTorchCheckpoint(value, "c.pt").optimizers).toEqual([]);
  });

  it("bare state dicts, and the only one among other things", () => {
    expect(decodeTorchCheckpoint(encodePt(model), "m.pt")).toMatchObject({ model, step: undefined, epoch: undefined });
    expect(weightsIn({ ema: model, lr: 3 }, "m.pt")).toBe(model);
    expect(weightsIn({ ema: model, model: { w: floats([1]) } }, "m.pt", "ema")).toBe(model);
    expect(() => weightsIn({ a: model, b: model }, "m.pt")).toThrow('Say which part to take: "a", "b"');
  });

  it("several optimizers, by name or in order", () => {
    const second = { ...sgd, name: "second" };
    const names = { second: namesOf(sgd), optimizer: paramNames };
    const { optimizer: both } = written(adamw, second);
    const read = decodeTorchCheckpoint({ model, optimizer: both! }, "c.pt", { paramNames: names });
    expect(read.optimizers.map(({ name, groups }) => [name, groups.length])).toEqual([
      ["second", 1],
      ["optimizer", 2],
    ]);
    const inOrder = { model, optimizer_states: [written(second).optimizer!, state] };
    expect(decodeTorchCheckpoint(inOrder, "c.pt", { paramNames: names }).optimizers[1]!.updates).toBe(7);
    const misnamed = { first: namesOf(sgd), optimizer: paramNames };
    expect(() => decodeTorchCheckpoint({ model, optimizer: both! }, "c.pt", { paramNames: misnamed })).toThrow(
      'it has no state of an optimizer "first". It has: "optimizer", "second".',
    );
  });

  const withState = (entries: [number | string, PtValue][], group: Record<string, PtValue> = {}): PtValue => ({
    model,
    optimizer: { state: new Map(entries), param_groups: [{ lr: 1, params: [0, 1], ...group }] },
  });
  const one = (value: PtValue) => decodeTorchCheckpoint(value, "c.pt", { paramNames: [params] }).optimizers[0]!;

  it("the largest of the counts, be they numbers or tensors, and what has no counts", () => {
    expect(
      one(
        withState([
          [0, { step: 5 }],
          [1, { step: floats([1], 12) }],
        ]),
      ).updates,
    ).toBe(12);
    const buffer = withState([
      [0, { momentum_buffer: floats([2, 3]) }],
      [1, { momentum_buffer: null }],
    ]) as object;
    expect(one(buffer as PtValue)).toMatchObject({ updates: 1, slots: { "momentum_buffer/0.weight": {} } });
    expect(one({ ...buffer, global_step: 40 }).updates).toBe(40);
    expect(one(withState([])).updates).toBe(0);
  });

  it("names where the file has them, in whatever order", () => {
    const swapped = { param_names: ["module.0.bias", "module.0.weight"] };
    const entries: [number, PtValue][] = [
      [0, { exp_avg: floats([2]) }],
      [1, { exp_avg: floats([2, 3]) }],
    ];
    expect(one(withState(entries, swapped)).slots["exp_avg/0.weight"]!.shape).toEqual([2, 3]);
    const byName = withState([["0.bias", { exp_avg: floats([2]) }]], { params: ["0.bias", "0.weight"] });
    expect(Object.keys(one(byName).slots)).toEqual(["exp_avg/0.bias"]);
    expect(() => one(withState(entries, { param_names: ["a", "b"] }))).toThrow(
      'names no parameter "0.weight" among "a"',
    );
  });

  it("a rate that is a tensor", () => {
    expect(
      one(withState([], { lr: floats([], 0.5), betas: asTuple([0.5, 0.25]), fused: true })).groups[0]!.values,
    ).toEqual({
      lr: 0.5,
      weightDecay: 0,
      betas: [0.5, 0.25],
    });
  });

  const refused: [string, PtValue, string[][], string][] = [
    ["no optimizer", { model }, [params], "it has no optimizer's state"],
    ["other groups", withState([]), [["0.weight"], ["0.bias"]], "has 1 parameter group, and 2 are expected"],
    ["other counts", withState([]), [["0.weight"]], 'group 0 of its optimizer "optimizer" has 2 parameters, and 1'],
    [
      "another order",
      withState([[0, { exp_avg: floats([2, 3]) }]]),
      [["0.bias", "0.weight"]],
      "in the order of model.p",
    ],
    ["amsgrad", withState([], { amsgrad: true }), [params], "made with amsgrad=True, which there is not here"],
    ["a broken count", withState([[0, { step: 1.5 }]]), [params], "`step` that is no whole number"],
    ["no rate", withState([], { lr: null }), [params], "has a group without `lr`"],
    ["two of them", { model, optimizer_states: [state, state] }, [params], "it has the state of 2 optimizers, and 1"],
    ["something else", { model, optimizer: [3] }, [params], "is no state dict with `state` and `param_groups`"],
  ];
  it.each(refused)("refuses %s", (_name, value, names, says) => {
    const read = () => decodeTorchCheckpoint(value, "c.pt", { paramNames: names });
    expect(read).toThrow(CheckpointError);
    expect(read).toThrow(says);
    expect(read).toThrow(/^c\.pt: /);
  });

  it("shapes as the model here has them, where the names in the file differ", () => {
    const wrapped = { ...(withState([[0, { exp_avg: floats([9]) }]]) as object), model: { "module.w": floats([9]) } };
    const own = { "0.weight": { shape: [2, 3] } };
    expect(() => decodeTorchCheckpoint(wrapped as PtValue, "c.pt", { paramNames: [params], shapes: own })).toThrow(
      'has shape [9], and parameter "0.weight" has [2, 3]',
    );
  });
});
