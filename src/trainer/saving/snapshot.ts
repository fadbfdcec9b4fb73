// A snapshot: everything that a run is, held while training goes on, until it is written.
import type { Run } from "../../core/run.ts";
import type { HookRegistry } from "../../core/registry.ts";
import type { LoaderSet } from "../../data/loader-set.ts";
import type { Session } from "../session.ts";
import type { OptimizerSet } from "../optimizers.ts";
import { HeldTensors } from "./held-tensors.ts";
import { takeHookStates } from "./hook-states.ts";
import type { Source } from "./restore.ts";
import { positionOf, runFields, STATE_SCHEMA, type Position, type SavedState } from "./run-state.ts";

/** The parts of a trainer that a checkpoint is of. */
export interface Subject {
  readonly run: Run;
  readonly hooks: HookRegistry;
  readonly feed: LoaderSet;
  readonly options: { readonly accumulate: number; readonly seed: number };
  /** What the run goes on from; of several processes the main one finds it, and all have it. */
  share(find: () => Promise<Source | undefined>): Promise<Source | undefined>;
  session(): Session;
  optimizers(): OptimizerSet;
}

export interface Snapshot {
  readonly step: number;
  readonly epoch: number;
  readonly metrics: Record<string, number>;
  /** By file without its ending. */
  readonly tensors: Record<string, HeldTensors>;
  readonly state: SavedState;
  free(): void;
}

/** Takes one. `position` is where the run stands, or, after a failure, where it stood when the state was last whole. */
export async function takeSnapshot(subject: Subject, position?: Position): Promise<Snapshot> {
  const { run, hooks, feed, options } = subject;
  const { engine, state, step: steps } = subject.session();
  const at = position ?? positionOf(run, feed, subject.optimizers());
  const { step, epoch } = at.clock.now;
  const tensors: Record<string, HeldTensors> = {};
  const fileOf = (file: string): HeldTensors => (tensors[file] ??= new HeldTensors(engine));
  const free = (): void => Object.values(tensors).forEach((held) => held.free());
  try {
    fileOf("model").hold(state.params).hold(state.state);
    fileOf("optimizer").hold(state.opt);
    await steps.readings.settle();
    const fields = runFields(run);
    // After a failure nobody knows what the step at hand has left of the last one's readings.
    const shows = step > 0 && !run.skipped && !position;
    const stepState = await steps.state();
    const hookStates = await takeHookStates(hooks.stateful(), step, fileOf);
    // Weights that others will load alone are a whole model: buffers that the hook did not give are the model's own.
    for (const file of Object.keys(tensors)) if (file.startsWith("model-")) fileOf(file).holdMissing(state.state);
    return {
      step,
      epoch: Math.max(0, epoch - 1),
      metrics: { ...run.metrics },
      tensors,
      state: {
        schema: STATE_SCHEMA,
        position: at,
        options: { ...options, engine: engine.name },
        step: stepState,
        loss: shows ? (run.stepLoss ?? steps.readings.loss) : null,
        gradNorm: shows ? (run.stepNorm ?? (steps.plan.gradNorm ? steps.readings.gradNorm : null)) : null,
        paramsVersion: state.version,
        ...fields,
        hooks: hookStates,
      },
      free,
    };
  } catch (error) {
    free();
    throw error;
  }
}
