// Traces one batch through model, loss and metrics without computing anything, so that data that does not fit the model
// is found before the first step.
import { makeJaxpr, numpy as np } from "@jax-js/jax";
import { dtypeOf, toHostArray, type HostArray } from "../core/arrays.ts";
import { toBatch } from "../core/batch.ts";
import type { HostBatch, HostTensors, Metric, Tensor, TensorBatch, Tensors } from "../core/model.ts";
import { TRAIN_PROBE_EVENTS, type Probe } from "../core/probes.ts";
import type { HookRegistry } from "../core/registry.ts";
import { keyStream } from "../nn/key.ts";
import type { Problem } from "./problem.ts";
import { PointCollector } from "./programs/probes.ts";
import { sumsLayouts, type SumsLayout } from "./programs/sums.ts";
import { explain } from "./run-program.ts";

export interface TracedParts {
  readonly problem: Problem;
  readonly initial: { readonly params: HostTensors; readonly state: HostTensors };
  readonly metrics: Readonly<Record<string, Metric>>;
  readonly hooks: HookRegistry;
}

type Phase = "train" | "eval";

/** Checks that the model, the loss and the metrics accept a batch of this loader; returns the batch, normalized. */
export function traceBatch(parts: TracedParts, phase: Phase, loader: string, given: unknown): HostBatch {
  const host = toBatch(given, () => `Loader \`${loader}\``);
  // A hook may put another batch in its place.
  if (parts.hooks.listens(...REPLACED_IN[phase])) return host;
  try {
    const { params, state } = parts.initial;
    const sums = sumsLayouts(parts.metrics)[phase];
    const numbers = [np.zeros([sums.size]), np.zeros([]), np.zeros([2], { dtype: np.uint32 })];
    const trace = makeJaxpr(passOf(parts, sums, phase, loader) as (...args: unknown[]) => never);
    const program = trace(...([standIns(params), standIns(state), standIns(host), ...numbers] as never[]));
    (program as unknown as { jaxpr: { dispose(): void } }).jaxpr.dispose();
  } catch (error) {
    throw explain(error, { what: phase === "train" ? "step" : "evaluation", loader, host });
  }
  return host;
}

const REPLACED_IN = { train: ["batchBegin", "beforeForward"], eval: ["evalBatchBegin"] } as const;

/** The forward pass, the loss and the metrics of one batch. Gradients and updates follow from these. */
function passOf({ problem, hooks }: TracedParts, sums: SumsLayout, phase: Phase, loader: string) {
  const train = phase === "train";
  const probes: readonly Probe[] = train ? hooks.probing(...TRAIN_PROBE_EVENTS) : hooks.probing("evalBatchEnd");
  const replacements = train ? [] : hooks.replacing(loader);
  return (params: Tensors, state: Tensors, batch: TensorBatch, total: Tensor, weight: Tensor, key: Tensor): Tensor => {
    const collector = new PointCollector({ probes, replacements });
    // The collector may run the pass twice, and every pass consumes its arguments.
    const run = () =>
      problem.forward(refs(params), batch, { train, key: keyStream(key), state: refs(state), loader }, undefined);
    const forward = collector.forward(run);
    collector.groups(forward.points);
    return total.add(sums.ofBatch(forward.loss, weight, forward.outputs, batch));
  };
}

const refs = (tensors: Tensors): Tensors =>
  Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, tensor.ref]));

/** Arrays of the same shapes and types that are never computed. */
const standIns = (tensors: HostTensors | HostBatch): Tensors =>
  Object.fromEntries(
    Object.entries(tensors).map(([name, tensor]) => {
      const array: HostArray = toHostArray(tensor, name);
      return [name, np.zeros([...array.shape], { dtype: dtypeOf(array) as never })];
    }),
  );
