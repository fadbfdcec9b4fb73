// What stays open behind a training: in an experiment its evaluation follows, and both are one run for those who watch it.
import { sharedKey } from "../../core/shared.ts";

/**
 * By the name of the hook, what it has left to do when the run is really over. There is such a map where more may follow
 * after `close`: a hook then puts its end in there, and whoever made the map calls it. Without one, `close` is the end.
 */
export const endsLater = sharedKey<Map<string, () => Promise<void>>>("endsLater");
