// What processes that `launch` starts need to find each other, looked for before they are started.
import { loadKoffi } from "../../distributed/libmpi.ts";
import type { ExperimentOptions } from "../../experiment/types.ts";

/** A strategy of one's own needs nothing of ours. */
export function checkJoining({ strategy = "auto" }: Pick<ExperimentOptions, "strategy">): void {
  if (strategy === "auto" || strategy === "mpi") loadKoffi();
}
