// Loaded before an example: whatever a Trainer of it has trained is exported, and must compute the same in onnxruntime
// and as a captured program. How many models were compared goes to the file EXPORT_CHECK.
import { writeFileSync } from "node:fs";
import { Trainer, type HostArray, type HostTensors, type Tensors } from "hookline";
import { sizeOf, toBatch } from "../../src/core/arrays.ts";
import { isTensor, type Loader, type Model } from "../../src/core/model.ts";
import { JaxEngine } from "../../src/engines/jax/jax-engine.ts";
import { captureForward, type ForwardPass } from "../../src/export/capture.ts";
import { programModel } from "../../src/export/interpret.ts";
import { programToOnnx } from "../../src/export/onnx/program-to-onnx.ts";
import { defineProblem } from "../../src/trainer/problem.ts";
import { outputsOf } from "../support/model-outputs.ts";
import { onnxSession, outputDifferences } from "../support/onnx-session.ts";

const ROWS = [1, 2, 7, 64];
let compared = 0;

const { fit } = Trainer.prototype;
Trainer.prototype.fit = async function (this: Trainer, ...args) {
  const result = await fit.apply(this, args);
  await compare(this);
  writeFileSync(process.env.EXPORT_CHECK!, String(++compared));
  return result;
};

async function compare(trainer: Trainer): Promise<void> {
  const { model, loss, inputs, eval: evals, train } = trainer.options;
  const problem = defineProblem({ model, inputs }, loss);
  const weights = await trainer.stateDict();
  const initial = problem.init(0);
  const own = (names: HostTensors): HostTensors =>
    Object.fromEntries(Object.keys(names).map((name) => [name, weights[name]!]));
  const [params, buffers] = [own(initial.params), own(initial.state)];
  const batch = await firstBatch(evals ?? train);
  const program = captureForward({ forward: problem.predict, params, buffers, batch });
  const names = program.inputs.map(({ name }) => name);
  const run = await onnxSession(programToOnnx(program, weights));
  const original = ofFields((tensors, fields, ctx) => problem.predict(tensors, fields, ctx));
  const captured = programModel(program);
  const copy = ofFields((tensors, fields, ctx) => {
    const result = captured.apply(tensors, fields, ctx);
    return Array.isArray(result) ? result[0] : result;
  });
  const engine = await JaxEngine.create("wasm");
  for (const rows of ROWS) {
    const all = Object.fromEntries(Object.entries(batch).map(([name, array]) => [name, firstRows(array, rows)]));
    const part = Object.fromEntries(names.map((name) => [name, all[name]!]));
    const expected = await outputsOf(engine, original, [params, buffers, all]);
    const copied = await outputsOf(engine, copy, [params, buffers, part]);
    const found = [
      ...outputDifferences(await run(part), expected, 1e-5).map((each) => `ONNX: ${each}`),
      ...outputDifferences(copied, expected, 1e-6).map((each) => `program: ${each}`),
    ];
    if (found.length > 0) throw new Error(`exported, with ${rows} rows: ${found.join("; ")}`);
  }
}

/** A model that takes all fields of a batch, also if one of them is `x`. */
const ofFields = (forward: ForwardPass["forward"]): Model<never> => ({
  init: () => ({}),
  apply: (params, fields: Tensors, ctx) => forward(params, isTensor(fields) ? { x: fields } : fields, ctx),
});

async function firstBatch(loaders: Loader | Readonly<Record<string, Loader>>): Promise<HostTensors> {
  const loader = typeof (loaders as Loader).next === "function" ? (loaders as Loader) : Object.values(loaders)[0]!;
  loader.begin(0, 0);
  const batch = toBatch(await loader.next(), () => "check-export");
  await loader.close?.();
  return batch;
}

/** Of an array with fewer rows, again from the first. */
function firstRows({ data, shape, ...rest }: HostArray, rows: number): HostArray {
  const size = rows * sizeOf(shape.slice(1));
  const Type = data.constructor as Float32ArrayConstructor;
  const repeated = Type.from({ length: size }, (_, i) => data[i % data.length]!);
  return { ...rest, data: repeated, shape: [rows, ...shape.slice(1)] };
}
