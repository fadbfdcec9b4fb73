// A registry over a run without an engine: for tests of hooks, their order and their dispatch alone.
import type { LiveOptimizer } from "../../src/core/optimizer.ts";
import { HookRegistry } from "../../src/core/registry/registry.ts";
import { Run, type RunHost } from "../../src/core/loop/run.ts";

export interface FakeRegistry {
  readonly run: Run;
  readonly hooks: HookRegistry;
  readonly warnings: string[];
}

const noEngine = (): never => {
  throw new Error("this run has no engine");
};

export function fakeRegistry(options: { rank?: number; optimizers?: readonly string[] } = {}): FakeRegistry {
  const warnings: string[] = [];
  const optimizers = (options.optimizers ?? []).map((name): LiveOptimizer => ({
    name,
    groups: [],
    updates: 0,
    state: async () => ({}),
  }));
  const host: RunHost = {
    model: { params: {}, loss: noEngine },
    config: {},
    seed: 0,
    shared: undefined,
    paramCount: () => 0,
    optimizersFor: () => optimizers,
    checkpointsFor: noEngine,
  };
  const run = new Run(host);
  const hooks = new HookRegistry(run, (message) => void warnings.push(message));
  if (options.rank !== undefined) hooks.joinAs(options.rank);
  return { run, warnings, hooks };
}
