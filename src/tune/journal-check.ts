// Whether a line of a journal is one that a study writes, at the place where it stands.
import { is } from "../core/options.ts";
import type { JournalEntry, JournalLine } from "./journal-entry.ts";
import { failure, isRecord, numbers, shaped, wrongField, type Fields } from "./shapes.ts";

const checkpoint = shaped({ path: is.string, trial: is.wholeFrom(0) });
const objective = shaped({ metric: is.name, mode: is.oneOf("min", "max") });
const reason = { reason: is.string };
const decision = is.or(
  shaped({ kind: is.oneOf("continue", "prune", "pause") }, reason),
  shaped({ kind: is.oneOf("exploit"), from: is.wholeFrom(0), params: is.object }, reason),
);
const stash = { stash: is.object };

interface Shape {
  readonly fields: Fields;
  readonly optional?: Fields;
}

const SHAPES: Readonly<Record<JournalEntry["type"], Shape>> = {
  study: {
    fields: {
      version: is.wholeFrom(1),
      name: is.string,
      objectives: is.arrayOf(objective),
      seed: is.finite,
    },
    // A sampler or scheduler of one's own may have no name.
    optional: { id: is.name, sampler: is.string, scheduler: is.string },
  },
  suggested: { fields: { params: is.object } },
  started: { fields: {}, optional: { resume: checkpoint } },
  report: { fields: { step: is.finite, values: numbers, decision }, optional: { checkpoint, ...stash } },
  checkpoint: { fields: { path: is.string }, optional: stash },
  completed: { fields: { result: numbers }, optional: stash },
  left: { fields: {}, optional: stash },
  resumed: { fields: {} },
  dropped: { fields: {} },
  failed: { fields: { error: failure, retry: is.boolean }, optional: { lost: is.boolean } },
  ended: { fields: { status: is.oneOf("completed", "stopped", "interrupted", "error"), reason: is.string } },
};

/**
 * What is wrong with it, or undefined.
 * @param place how many lines are above
 * @param trials how many trials those suggest
 */
export function wrongEntry(line: unknown, place: number, trials: number): string | undefined {
  if (!isRecord(line) || typeof line["type"] !== "string" || !Object.hasOwn(SHAPES, line["type"]))
    return place === 0 ? "it is not the header of a study" : "it is not a line of a study's journal";
  const type = line["type"] as JournalLine["type"];
  if ((type === "study") !== (place === 0))
    return place === 0 ? "the header of the study is missing" : "a second study begins here";
  const { fields, optional = {} } = SHAPES[type];
  const wrong = wrongField(line, { ...fields, at: is.nonNegative }, optional);
  if (wrong !== undefined) return `its \`${wrong}\` is not one of a line \`${type}\``;
  if (type === "study" || type === "ended") return undefined;
  const known = type === "suggested" ? line["trial"] === trials : isKnown(line["trial"], trials);
  return known ? undefined : `there is no trial ${JSON.stringify(line["trial"])} at this point`;
}

const isKnown = (trial: unknown, trials: number): boolean => is.wholeFrom(0).test(trial) && (trial as number) < trials;
