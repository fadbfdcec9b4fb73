// The plan follows the listeners: who listens decides how the step is cut into programs.
import { safeText } from "../core/safe-text.ts";
import { TRAIN_PROBE_EVENTS } from "../core/probes.ts";
import type { HookRegistry } from "../core/registry.ts";
import type { Plan } from "../core/work.ts";

/** Chooses the cheapest plan that serves every listener. */
export function choosePlan(hooks: HookRegistry, accumulate: number, clips: boolean, processes = 1): Plan {
  const outputsBy = hooks.needing("outputs");
  const finite = hooks.needing("finite") !== undefined;
  const gradNorm = clips || finite || hooks.needing("gradNorm") !== undefined;
  const probes = hooks.probing(...TRAIN_PROBE_EVENTS);
  const batchMetrics = hooks.needing("batchMetrics") !== undefined;
  const shared = { outputs: outputsBy !== undefined, gradNorm, batchMetrics, finite, probes };
  const forward = hooks.firstListener("afterForward", "beforeBackward");
  if (forward)
    return { kind: "forwardFirst", because: `hook \`${forward.hook}\` listens to ${forward.event}`, ...shared };
  const gradients = hooks.firstListener("afterBackward", "beforeOptimizerStep", "gradientClip", "afterOptimizerStep");
  if (gradients)
    return { kind: "split", because: `hook \`${gradients.hook}\` listens to ${gradients.event}`, ...shared };
  if (accumulate > 1) return { kind: "split", because: `accumulate is ${accumulate}`, ...shared };
  if (processes > 1) return { kind: "split", because: `${processes} processes train together`, ...shared };
  return { kind: "fused", because: "nobody listens between the forward pass and the update", ...shared };
}

/** Do both need the same programs? Why they do is another matter. */
export function samePlan(a: Plan, b: Plan): boolean {
  const probes = a.probes.length === b.probes.length && a.probes.every((probe, i) => probe === b.probes[i]);
  const flags = (["kind", "outputs", "gradNorm", "batchMetrics", "finite"] as const).every((key) => a[key] === b[key]);
  return probes && flags;
}

const PROGRAMS: Record<Plan["kind"], string> = {
  fused: "one program: forward, backward and update; gradients never leave the device",
  split: "loss and gradients, then the update",
  forwardFirst:
    "the forward pass first, then loss and gradients (native goes on from there, the others compute it again), then the update",
};

function normReason(plan: Plan, hooks: HookRegistry): string {
  const hook = hooks.needing("gradNorm");
  if (hook) return `hook \`${hook}\` needs it`;
  return plan.finite ? "the guard looks at it" : "clipping is on";
}

/** The plan in words, for `trainer.explainPlan()`. */
export function describePlan(plan: Plan, hooks: HookRegistry): string {
  const extras = [
    plan.outputs && `outputs come back, because hook \`${hooks.needing("outputs")}\` needs them`,
    plan.batchMetrics && `metrics of the step come back, because hook \`${hooks.needing("batchMetrics")}\` needs them`,
    plan.probes.length > 0 && `activations come back, because hook \`${plan.probes[0]!.hook}\` probes them`,
    plan.finite && `a step that is not finite changes nothing, because hook \`${hooks.needing("finite")}\` guards it`,
    plan.gradNorm && `the gradient norm is computed, because ${normReason(plan, hooks)}`,
  ].filter(Boolean);
  return safeText([`${plan.kind}: ${PROGRAMS[plan.kind]}`, `because ${plan.because}`, ...extras].join("\n"));
}
