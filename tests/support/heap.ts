// The heap without its garbage. `gc` is a flag of the process, which a test cannot choose: it is switched on from inside.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Bytes in use after a collection. */
export function heapInUse(): number {
  // What the first round finalises, the second frees.
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
