// Work for a timer. Nobody catches what a timer throws, and it would end the process.
import { messageOf } from "../../core/maybe.ts";

/** The same work, which never throws: `failed` is told of the first time that it would have. */
export function inTimer(work: () => void, failed: (message: string) => void): () => void {
  let told = false;
  return () => {
    try {
      work();
    } catch (error) {
      if (!told) failed(messageOf(error));
      told = true;
    }
  };
}
