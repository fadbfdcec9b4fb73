// What the computing side of a step is built from, and what a checkpoint keeps of it.
import type { HookRegistry } from "../core/registry.ts";
import type { Engine } from "../engines/engine.ts";
import type { DeviceState } from "./device-state.ts";
import type { FunctionWatch } from "./programs/compiled.ts";
import type { JointStep } from "./joint-step.ts";
import type { OptimizerSet } from "./optimizers.ts";
import type { ProbeRunner } from "./probe-runner.ts";
import type { ControlLayout } from "./inputs.ts";
import type { SumsLayout } from "./programs/sums.ts";
import type { Specs } from "./specs.ts";
import type { TotalsState } from "./averages.ts";

export interface StepOptions {
  readonly seed: number;
  readonly clipNorm: number | undefined;
  readonly clipValue: number | undefined;
  readonly lossWeights: Readonly<Record<string, number>>;
  readonly totals: () => { readonly totalSteps: number | undefined; readonly totalEpochs: number | undefined };
}

/** What the runner is built from. */
export interface StepParts {
  readonly engine: Engine;
  readonly state: DeviceState;
  readonly optimizers: OptimizerSet;
  readonly specs: Specs;
  readonly sums: SumsLayout;
  readonly control: ControlLayout;
  readonly hooks: HookRegistry;
  readonly probes: ProbeRunner;
  readonly joint: JointStep | undefined;
  readonly options: StepOptions;
  readonly warn: (message: string) => void;
  readonly functions: FunctionWatch;
}

export interface StepState {
  readonly totals: TotalsState;
  readonly frozen: readonly string[];
}
