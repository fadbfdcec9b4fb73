// Values that are NaN or infinite, counted by name on the host.
import type { Diagnosis, NonFinite } from "../core/diagnosis.ts";
import type { HostBatch } from "../core/model.ts";

/** The names that have any. */
export const byName = (counts: readonly (readonly [string, number])[]): NonFinite =>
  Object.fromEntries(counts.filter(([, count]) => count > 0));

/** Only typed arrays of floats can hold one; a loop over the others finds nothing. */
export const nonFiniteIn = (batch: HostBatch): NonFinite =>
  byName(
    Object.entries(batch).map(([name, { data }]) => {
      let count = 0;
      for (const value of data) if (!Number.isFinite(value)) count++;
      return [name, count];
    }),
  );

export const isBad = ({ batch, params, loss, grads }: Diagnosis): boolean =>
  !Number.isFinite(loss) || [batch, params, grads].some((counts) => Object.keys(counts).length > 0);
