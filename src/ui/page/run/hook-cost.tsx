// What the hooks of a run cost: the dearest few beside the charts.
import type { RunPage } from "../../wire.ts";
import * as format from "../format.ts";

/** Share of the time of training that a hook has taken; 0 to 1. */
export const shareOf = (ms: number, elapsed: number): number => (elapsed > 0 ? ms / (1000 * elapsed) : 0);

export const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;

export function HookCost({ page }: { page: RunPage }) {
  const hooks = page.hooks
    .filter(({ calls }) => calls > 0)
    .sort((a, b) => b.ms - a.ms)
    .slice(0, 5);
  if (hooks.length === 0) return <p class="soft">Not measured yet.</p>;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">hook</th>
          <th scope="col" class="number">
            calls
          </th>
          <th scope="col" class="number">
            share
          </th>
        </tr>
      </thead>
      <tbody>
        {hooks.map(({ name, calls, ms }) => (
          <tr key={name}>
            <td>{name}</td>
            <td class="number">{format.integer(calls)}</td>
            <td class="number">{percent(shareOf(ms, page.row.elapsed))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
