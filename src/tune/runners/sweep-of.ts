// Tells the experiment of a sweep from a module's export, where a trial has a name.

/** A path of a sweep's record; modules end otherwise. */
const SWEEP = /^(.*)\/sweep\.json$/;

/** The directory of the study whose experiment it is; undefined of a module's export. */
export const sweepOf = (trial: string): string | undefined => SWEEP.exec(trial)?.[1];
