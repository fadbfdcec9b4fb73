// Everything that exists once an engine is there: the state on the device and the runners that work on it.
import type { HookRegistry } from "../core/registry.ts";
import type { HostTensors } from "../core/model.ts";
import type { Settings } from "../core/work.ts";
import type { RankTeam } from "../distributed/team.ts";
import type { Engine } from "../engines/engine.ts";
import { selectEngine } from "../engines/select.ts";
import { DeviceState } from "./device-state.ts";
import { EvalRunner } from "./eval-runner.ts";
import type { FunctionWatch } from "./programs/compiled.ts";
import { HookTensors } from "./hook-tensors.ts";
import type { OptimizerSet } from "./optimizers.ts";
import type { TrainerOptions } from "./options.ts";
import { ProbeRunner } from "./probe-runner.ts";
import type { Problem } from "./problem.ts";
import { ControlLayout } from "./inputs.ts";
import { sumsLayouts } from "./programs/sums.ts";
import { Specs } from "./specs.ts";
import type { StepOptions } from "./step-parts.ts";
import { StepRunner } from "./step-runner.ts";
import { stepSettings } from "./step-settings.ts";

export interface Machine {
  readonly engine: Engine;
  readonly state: DeviceState;
  readonly steps: StepRunner;
  readonly settings: Settings;
  readonly evals: EvalRunner;
  readonly tensors: HookTensors;
  readonly probes: ProbeRunner;
}

export async function buildMachine(
  options: TrainerOptions,
  initial: { readonly params: HostTensors; readonly state: HostTensors },
  problem: Problem,
  optimizers: OptimizerSet,
  hooks: HookRegistry,
  stepOptions: StepOptions,
  warn: (message: string) => void,
  functions: FunctionWatch,
  team?: RankTeam,
): Promise<Machine> {
  const engine = await selectEngine(options.engine ?? "auto", warn);
  try {
    const state = new DeviceState(engine, initial, optimizers);
    const sums = sumsLayouts(options.metrics ?? {});
    const control = new ControlLayout(["scale", "weight", "clipNorm", "clipValue", ...optimizers.controlNames()]);
    const clip = { clipNorm: stepOptions.clipNorm !== undefined, clipValue: stepOptions.clipValue !== undefined };
    const specs = new Specs(Object.keys(initial.params), problem, optimizers, sums, control, clip, warn);
    const probes = new ProbeRunner(engine, state, specs, stepOptions.seed);
    const joint = team && new (await import("./joint-step.ts")).JointStep(engine, state, team, sums.train.size);
    const parts = {
      engine,
      state,
      optimizers,
      specs,
      sums: sums.train,
      control,
      hooks,
      probes,
      joint,
      options: stepOptions,
      warn,
      functions,
    };
    const steps = new StepRunner(parts);
    const sum = team && ((values: Float64Array) => team.strategy.allReduce(values));
    const evals = new EvalRunner(engine, state, specs, sums.eval, hooks, warn, sum);
    const tensors = new HookTensors(engine, state, () => evals.current, functions);
    const settings = stepSettings(specs, optimizers, state, functions);
    return { engine, state, steps, settings, evals, tensors, probes };
  } catch (error) {
    // Nobody has it yet who could close it.
    if (engine !== options.engine) await engine.close();
    throw error;
  }
}

/** Frees everything on the device; an engine that the user brought stays open. */
export async function freeMachine({ engine, state, steps, evals, tensors }: Machine, own: boolean): Promise<void> {
  tensors.free();
  steps.free();
  evals.free();
  state.free();
  if (own) await engine.close();
}
