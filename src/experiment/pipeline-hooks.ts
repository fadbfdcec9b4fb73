// Hooks in the events of an experiment.
import type { Hook } from "../core/hook.ts";
import { OuterHooks } from "../core/registry/outer-hooks.ts";
import type { PipelineContexts } from "../core/outer-events.ts";

export { OuterState as PipelineState } from "../core/registry/outer-hooks.ts";

export class PipelineHooks extends OuterHooks<PipelineContexts> {
  constructor(hooks: readonly Hook[]) {
    super("experiment", hooks);
  }
}
