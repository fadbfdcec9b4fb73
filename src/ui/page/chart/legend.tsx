// The names of a chart's lines with their values, and the table of its points.
import type { Axis } from "../../wire.ts";
import type { Points } from "../data/series-feed.ts";
import * as format from "../format.ts";
import type { Line } from "./chart.tsx";
import { tableRows, valueAt } from "./summary.ts";
import { lineColor } from "./theme.ts";

interface LegendProps {
  readonly lines: readonly Line[];
  readonly points: readonly (Points | null)[];
  readonly cursor: number | undefined;
  readonly hidden: ReadonlySet<string>;
  readonly toggle: (line: Line) => void;
}

export const lineKey = ({ run, name }: Line): string => `${run} ${name}`;

/** The values at the cursor, else the last ones. A line's button hides it. */
export function Legend({ lines, points, cursor, hidden, toggle }: LegendProps) {
  const first = points.find((each) => each !== null && each !== undefined && each.x.length > 0);
  const at = cursor !== undefined && first ? valueAt(first, cursor)?.x : undefined;
  return (
    <span class="legend">
      {lines.map((line, i) => {
        const own = points[i];
        const isHidden = hidden.has(lineKey(line));
        const shown = !isHidden && own && own.x.length > 0 ? valueAt(own, cursor ?? Infinity) : undefined;
        return (
          <button key={lineKey(line)} type="button" aria-pressed={!isHidden} onClick={() => toggle(line)} title={isHidden ? "Show" : "Hide"}>
            <i style={{ background: lineColor(line.color) }} />
            {line.label} {shown && <b>{format.number(cursor === undefined ? (shown.smooth ?? shown.y) : shown.y)}</b>}
          </button>
        );
      })}
      {at !== undefined && <span class="at">at {format.number(at)}</span>}
    </span>
  );
}

export function PointTable({ lines, points, x, title }: { lines: readonly Line[]; points: readonly (Points | null)[]; x: Axis; title: string }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`Values of ${title}`}>
      <table>
        <thead>
          <tr>
            <th class="number">{x}</th>
            {lines.map(({ label }) => (
              <th key={label} class="number">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {tableRows(points).map((row) => (
            <tr key={row.x}>
              <td class="number">{x === "time" ? format.clock(row.x) : format.number(row.x)}</td>
              {row.y.map((y, i) => (
                <td key={lines[i]!.label} class="number">
                  {format.number(y)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
