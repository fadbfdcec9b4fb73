// The loop that someone would write by hand around the trainer's own fused program: fetch, upload, run, keep the results.
import { stepKey } from "hookline/nn";
import { tinyTrainer } from "hookline/testing";
import type { HostArray } from "../../src/core/arrays.ts";
import type { Buffer, Engine, Tree } from "../../src/engines/engine.ts";
import { Specs, choosePlan } from "../../src/trainer/specs.ts";
import { DeviceState, type Buffers } from "../../src/trainer/device-state.ts";
import { OptimizerSet } from "../../src/trainer/optimizers.ts";
import { defineProblem } from "../../src/trainer/problem.ts";
import { ControlLayout, ProgramCache } from "../../src/trainer/programs/run.ts";
import { fusedStep } from "../../src/trainer/programs/programs.ts";
import { RowsLayout } from "../../src/trainer/metrics/rows-layout.ts";
import { sumsLayouts } from "../../src/trainer/programs/sums.ts";
import type { Setup } from "./models.ts";

interface Results {
  readonly params: Buffers;
  readonly opt: Buffers;
  readonly state: Buffers;
  /** Loss and, where asked for, norm. */
  readonly report: Buffer;
}

/** Returns a function that does one step. */
export function handLoop({ model, loss, optimizer, train: loader }: Setup, engine: Engine): () => void {
  const problem = defineProblem({ model }, loss);
  const initial = problem.init(0);
  const names = Object.keys(initial.params);
  const optimizers = new OptimizerSet(optimizer, undefined, names, ["train"]);
  const sumsLayout = sumsLayouts({});
  const layout = new ControlLayout(["scale", "weight", "clipNorm", "clipValue", ...optimizers.controlNames()]);
  const specs = new Specs(
    names,
    problem,
    optimizers,
    { sums: sumsLayout, rows: new RowsLayout({}) },
    layout,
    { clipNorm: false, clipValue: false },
    console.warn,
  );
  const plan = choosePlan(tinyTrainer().hooks, 1, false);
  const spec = specs.get(plan, "train");
  const program = new ProgramCache(engine).of(spec, "fused", () => fusedStep(spec), { donate: [0, 1, 2, 3, 5, 6, 7] });

  const start = new DeviceState(engine, initial, optimizers);
  let { params, opt, state } = start;
  let lastReport: Buffer | undefined;
  let step = 0;
  let epoch = 0;
  loader.begin(epoch, 0);

  return () => {
    let batch = loader.next();
    if (batch === undefined) {
      loader.begin(++epoch, 0);
      batch = loader.next();
    }
    const { x, y } = batch as { x: HostArray; y: HostArray };
    step++;
    optimizers.fill(layout, 0);
    optimizers.slots[0]!.updates++;
    layout.set("scale", 1);
    layout.set("weight", x.shape[0]!);
    const control = engine.put({ data: layout.values, shape: [layout.values.length] });
    const key = engine.put({ data: stepKey(0, step, 0), shape: [2] });
    const on = { x: engine.put(x), y: engine.put(y) };
    const out = program(params, opt, state, {}, {}, on, control, key) as Tree<Buffer> as unknown as Results;
    ({ params, opt, state } = out);
    void engine.read(out.report);
    if (lastReport) engine.free(lastReport);
    lastReport = out.report;
  };
}
