// Where runs differ: hyperparameters that are not the same, and the best and the last values that they reached.
import type { RunPage, RunRow } from "../../wire.ts";
import { lineColor } from "../chart/theme.ts";
import * as format from "../format.ts";
import { differingHparams } from "../list/rows.ts";
import { StateBadge } from "../parts/state.tsx";
import { href, listSetting, setQuery } from "../router.ts";

interface DifferenceProps {
  readonly rows: readonly RunRow[];
  /** By the ids of runs, as far as they are known: the last values. */
  readonly pages: ReadonlyMap<string, RunPage>;
  readonly base: string | undefined;
}

export function DifferenceTable({ rows, pages, base }: DifferenceProps) {
  const hparams = differingHparams(rows);
  const metrics = [...new Set(rows.flatMap(({ best }) => Object.keys(best)))].filter(
    (name) => !name.startsWith("train/"),
  );
  const lastOf = ({ id }: RunRow, name: string): number | undefined => pages.get(id)?.latest[name];
  const reference = rows.find(({ id }) => id === base);
  const drop = (id: string): void =>
    setQuery({
      runs: listSetting("runs")
        .filter((each) => each !== id)
        .join(","),
      ...(id === base && { base: undefined }),
    });
  return (
    <section class="block">
      <h2>Differences, best and last values{reference ? `, relative to ${reference.name}` : ""}</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Differences">
        <table class="roomy">
          <thead>
            <tr>
              <th scope="col">run</th>
              <th scope="col">state</th>
              <th scope="col" class="number">
                step
              </th>
              {hparams.map((name) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
              {metrics.flatMap((name) =>
                ["best", "last"].map((which) => (
                  <th key={`${which} ${name}`} scope="col" class="number">
                    {which} {name}
                  </th>
                )),
              )}
              <th scope="col">
                <span class="hidden">remove</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, i) => (
              <tr key={row.id}>
                <th scope="row">
                  <i class="swatch" style={{ background: lineColor(i) }} />
                  <a href={href(["run", row.id])}>{row.name}</a>
                </th>
                <td>
                  <StateBadge state={row.state} />
                </td>
                <td class="number">{format.integer(row.step)}</td>
                {hparams.map((name) => (
                  <td key={name} class="number">
                    {name in row.hparams ? format.value(row.hparams[name]) : "–"}
                  </td>
                ))}
                {metrics.flatMap((name) => {
                  const other = row === reference ? undefined : reference;
                  return [
                    <td key={`best ${name}`} class="number">
                      {relative(row.best[name]?.value, other?.best[name]?.value)}
                    </td>,
                    <td key={`last ${name}`} class="number">
                      {relative(lastOf(row, name), other && lastOf(other, name))}
                    </td>,
                  ];
                })}
                <td>
                  <button type="button" class="link" aria-label={`Remove ${row.name}`} onClick={() => drop(row.id)}>
                    remove
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function relative(value: number | undefined, base: number | undefined): string {
  if (value === undefined) return "–";
  if (base === undefined) return format.number(value);
  const change = (100 * (value - base)) / Math.abs(base);
  return `${format.number(value)} (${change > 0 ? "+" : "−"}${Math.abs(change).toFixed(1)} %)`;
}
