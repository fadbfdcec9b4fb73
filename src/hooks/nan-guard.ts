// nanGuard: discards a step whose loss or gradient is NaN or infinite, then stops, skips, raises or rolls back.
import type { ContextOf } from "../core/context.ts";
import type { Diagnosis, NonFinite } from "../core/inspection.ts";
import { HooklineError } from "../core/errors.ts";
import type { Hook } from "../core/hook.ts";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";
import { warnUser } from "../platform/print.ts";
import { sharedKey } from "../core/shared.ts";

/** Options of `nanGuard`. */
export interface NanGuardOptions {
  /** Default `nanGuard`. */
  readonly name?: string;
  /**
   * After a non-finite step, which never changes anything: end the run (`stop`, the default), continue with the next step
   * (`skip`), throw (`raise`), or continue and after `rollbackAfter` such steps return to the newest checkpoint (`rollback`);
   * if no finite step follows, to the one before.
   */
  readonly action?: "stop" | "skip" | "raise" | "rollback";
  /** With `skip`: this many consecutive non-finite steps end the run. Default 10. */
  readonly maxConsecutive?: number;
  /** With `rollback`: how many consecutive non-finite steps cause one. Default 3. */
  readonly rollbackAfter?: number;
}

/** The newest non-finite step that a hook has reported: other hooks need not report it again. */
export const reportedBadStep = sharedKey<number>("reportedBadStep");

/** How many names a message lists before it counts the rest. */
const SHOWN = 4;

function list(counts: NonFinite): string {
  const names = Object.entries(counts).map(([name, count]) => `\`${name}\` (${count})`);
  const more = names.length - SHOWN;
  return [...names.slice(0, SHOWN), ...(more > 0 ? [`${more} more`] : [])].join(", ");
}

/** A checkpoint from before this step; undefined, which means the newest, if there is none. */
const olderThan = (step: number, { checkpoints }: Pick<ContextOf<"stepEnd">, "checkpoints">): string | undefined =>
  checkpoints.list().findLast((saved) => saved.step < step)?.name;

type StepEnd = Pick<ContextOf<"stepEnd">, "gradNorm" | "rank" | "worldSize">;

/** The first non-finite value in the order of computation; later ones are its consequences. */
function firstBad(
  { batch, params, loss, index, activation, grads }: Diagnosis,
  { gradNorm, rank, worldSize }: StepEnd,
): string {
  const any = (counts: NonFinite): boolean => Object.keys(counts).length > 0;
  if (any(batch)) return `the batch has values that are not finite: ${list(batch)}`;
  if (any(params)) return `parameters were not finite before the step: ${list(params)}`;
  if (!Number.isFinite(loss)) {
    if (index !== undefined) return `the loss is ${loss}: ${index}`;
    const point = activation === undefined ? "" : `; the first activation that is not: \`${activation}\``;
    return `the loss is ${loss}; batch and parameters are finite${point}`;
  }
  if (any(grads)) return `the loss is finite, gradients are not: ${list(grads)}`;
  if (worldSize > 1)
    return `the gradient norm is ${gradNorm}, though all is finite in the rows of rank ${rank}: see the messages of the other ${worldSize - 1} of ${worldSize} ranks`;
  return `the gradient norm is ${gradNorm}, though every gradient is finite: it overflows, or a hook changed the gradients`;
}

/**
 * Loss and gradient norm come with the step's own report, so a finite step costs nothing more; a non-finite one is
 * computed again to find the cause.
 * @example
 * new Trainer({ …, hooks: [nanGuard({ action: "skip" })] });
 * new Trainer({ …, runDir: "runs/digits", hooks: [nanGuard({ action: "rollback" })] });
 */
export const nanGuard = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "nanGuard",
    takes: () => ({
      options: {
        name: is.name,
        action: is.oneOf("stop", "skip", "raise", "rollback"),
        maxConsecutive: is.wholeFrom(1),
        rollbackAfter: is.wholeFrom(1),
      },
    }),
  },
  makeNanGuard,
);

function makeNanGuard(options: NanGuardOptions = {}): Hook {
  const { name = "nanGuard", action = "stop", maxConsecutive = 10, rollbackAfter = 3 } = options;
  let consecutive = 0;
  let total = 0;
  /** The step of the checkpoint that was rolled back to, until a finite step follows. */
  let wentBackTo: number | undefined;

  async function onBadStep(ctx: ContextOf<"stepEnd">): Promise<void> {
    consecutive++;
    total++;
    const found = await ctx.diagnose();
    const where = found.micro > 0 ? `, micro-batch ${found.micro}` : "";
    const message = `step ${ctx.step}${where} (loader \`${found.loaderName}\`) changed nothing: ${firstBad(found, ctx)}`;
    ctx.log({ "nan/steps": total });
    if (action === "raise") throw new HooklineError(message);
    if (action === "stop") return ctx.stop(message);
    // A hook such as `debug` may have reported this step already.
    if (ctx.shared.get(reportedBadStep) !== ctx.step) warnUser(ctx.config, `${name}: ${message}`);
    if (consecutive < (action === "skip" ? maxConsecutive : rollbackAfter)) return;
    const why = `${consecutive} consecutive non-finite steps; the last: ${message}`;
    if (action === "skip") return ctx.stop(why);
    consecutive = 0;
    ctx.rollback(wentBackTo === undefined ? undefined : olderThan(wentBackTo, ctx), why);
  }

  return {
    name,
    stage: "monitor",
    needs: ["finite"],
    logs: ["nan/steps"],
    onTrainBegin(ctx) {
      if (ctx.step > 0) return;
      consecutive = total = 0;
      wentBackTo = undefined;
    },
    onStepEnd(ctx) {
      if (!ctx.finite) return onBadStep(ctx);
      // A step that was skipped says nothing about the numbers.
      if (ctx.skipped) return undefined;
      consecutive = 0;
      wentBackTo = undefined;
      return undefined;
    },
    onAfterLoad({ loaded }) {
      if (loaded.why === "rollback") wentBackTo = loaded.step;
    },
    state: () => ({ json: { consecutive, total, ...(wentBackTo !== undefined && { wentBackTo }) } }),
    load({ json }) {
      ({ consecutive, total, wentBackTo } = json as { consecutive: number; total: number; wentBackTo?: number });
    },
  };
}
