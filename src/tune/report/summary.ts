// A study in a few lines: how it ended, what was best, what it took.
import { formatDuration } from "../../terminal/eta.ts";
import { rankTrials } from "../rank-trials.ts";
import { numberText } from "../study-table.ts";
import type { Facts } from "./facts.ts";

export interface SummaryLine {
  readonly title: string;
  readonly text: string;
}

const counted = (count: number, one: string): string => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

export function summaryOf({ study, trials, counts, steps }: Facts): readonly SummaryLine[] {
  const { objectives, elapsed, status, reason } = study;
  const completed = trials.filter(({ status: each }) => each === "completed");
  const lines: SummaryLine[] = objectives.map((objective) => {
    const { metric, mode } = objective;
    const best = rankTrials(completed, [objective])[0];
    return {
      title: `${mode === "min" ? "lowest" : "highest"} ${metric}`,
      text: best ? `${numberText(best.result?.[metric])} in trial ${best.number}` : "no trial has completed",
    };
  });
  lines.push({
    title: counted(trials.length, "trial"),
    text: counts.map(({ status: each, count }) => `${count.toLocaleString("en")} ${each}`).join(", ") || "none yet",
  });
  if (steps > 0) lines.push({ title: "steps", text: steps.toLocaleString("en") });
  if (elapsed !== undefined) lines.push({ title: "time", text: formatDuration(elapsed) });
  if (status !== undefined) lines.push({ title: "ended", text: reason ? `${status}: ${reason}` : status });
  return lines;
}

/** `trials 3, 7, 9 and 12 more`. */
export function trialList(numbers: readonly number[], most = 8): string {
  const shown = numbers.slice(0, most).join(", ");
  const left = numbers.length - most;
  return `${numbers.length === 1 ? "trial" : "trials"} ${shown}${left > 0 ? ` and ${left} more` : ""}`;
}
