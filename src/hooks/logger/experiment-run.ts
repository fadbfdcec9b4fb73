// What an experiment and its loggers tell each other: its training and the evaluation after it are one run.
import { sharedKey } from "../../core/shared.ts";

/**
 * What hooks have left to do when the run is over, by the hook's name. An experiment provides this map: it evaluates after
 * the training, and both belong to one run, so a hook adds its end here instead of acting in `close`, and the experiment
 * calls it. Without the map, `close` is the end.
 */
export const endsLater = sharedKey<Map<string, () => Promise<void>>>("endsLater");

/** The step of the checkpoint whose weights a standalone evaluation uses, where they are not those of the last step. */
export const weightsStep = sharedKey<number>("weightsStep");
