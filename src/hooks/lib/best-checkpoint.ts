// earlyStopping's way back to the best of the run's checkpoints.
import type { ContextOf } from "../../core/context.types.ts";
import { monitorValue } from "../../core/monitor.ts";
import { brief, type Tracker } from "./tracker.ts";
import { warnUser } from "./warn-user.ts";

/**
 * Puts the weights of the best check's checkpoint in place; when that check was not saved, those of the best that was.
 * `was` says what the best check was.
 */
export async function restoreBestCheckpoint(
  ctx: ContextOf<"trainEnd">,
  name: string,
  tracker: Tracker,
  was: string,
): Promise<void> {
  // Of a run that was resumed from an older checkpoint, newer ones may still lie there.
  const saved = ctx.checkpoints.list().filter(({ step }) => step <= ctx.step);
  const values = saved.map(({ metrics }) => monitorValue(metrics, tracker.monitor));
  // By its step first: a metric of the steps alone is not in a manifest, and one that was saved later may be the same.
  const exact = saved.findLastIndex(({ step }) => step === tracker.state.bestStep);
  const at = exact >= 0 ? exact : tracker.bestOf(values);
  const checkpoint = saved[at];
  if (!checkpoint) {
    const none = saved.length === 0 ? "there is no checkpoint" : `no checkpoint has \`${tracker.monitor}\``;
    return warnUser(ctx.config, `${name}: ${was}, but ${none}: the parameters stay those of the last step.`);
  }
  const weights = await ctx.checkpoints.weights(checkpoint.name);
  // They come with buffers, which stay those of the last step.
  const params = Object.fromEntries(ctx.params.names.map((each) => [each, weights[each]!]));
  const from =
    exact >= 0 ? "" : `, and was not saved; of what was, ${checkpoint.name} is best with ${brief(values[at]!)}`;
  ctx.setParams(params, `${was}${from || ` (${checkpoint.name})`}`);
}
