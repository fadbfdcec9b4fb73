// The names of a chart's lines with their values, and the table of its points.
import type { Axis } from "../../wire.ts";
import * as format from "../format.ts";
import type { Line } from "./chart.tsx";
import type { Curve, Drawn } from "./combine.ts";
import { tableRows, valueAt } from "./summary.ts";
import { lineColor } from "./theme.ts";

interface LegendProps {
  readonly lines: readonly Line[];
  /** Those of `lines` that are not hidden, and what is drawn for them: of groups, one for each. */
  readonly visible: readonly Line[];
  readonly drawn: readonly Drawn[];
  readonly cursor: number | undefined;
  readonly toggle: (line: Line) => void;
  /** Of the chart: a single line of this name needs no other. */
  readonly title: string;
}

const MANY = 12;

export const lineKey = ({ run, name }: Line): string => `${run} ${name}`;

/** The values at the cursor, else the last ones. A line's button hides it. */
export function Legend({ lines, visible, drawn, cursor, toggle, title }: LegendProps) {
  const first = drawn.find(({ curve }) => curve !== null && curve.x.length > 0)?.curve;
  const at = cursor !== undefined && first ? valueAt(first, cursor)?.x : undefined;
  const isGrouped = lines.some(({ group }) => group !== undefined);
  return (
    <span class={lines.length > MANY ? "legend many" : "legend"}>
      {isGrouped
        ? drawn.map(({ label, color, curve }) => (
            <span key={label}>
              <Swatch color={color} />
              {label} <Value curve={curve} cursor={cursor} />
            </span>
          ))
        : lines.map((line) => {
            const own = drawn[visible.indexOf(line)];
            return (
              <button key={lineKey(line)} type="button" aria-pressed={own !== undefined} onClick={() => toggle(line)}>
                <Swatch color={line.color} />
                <span class={lines.length === 1 && line.label === title ? "hidden" : undefined}>
                  {own?.label ?? line.label}
                </span>{" "}
                <Value curve={own?.curve ?? null} cursor={cursor} />
              </button>
            );
          })}
      {at !== undefined && <span class="at">at {format.number(at)}</span>}
    </span>
  );
}

const Swatch = ({ color }: { color: number }) => <i style={{ background: lineColor(color) }} />;

function Value({ curve, cursor }: { curve: Curve | null; cursor: number | undefined }) {
  if (!curve || curve.x.length === 0) return null;
  const near = valueAt(curve, cursor ?? Infinity)!;
  return <b>{format.number(cursor === undefined ? (near.smooth ?? near.y) : near.y)}</b>;
}

export function PointTable({ drawn, x, title }: { drawn: readonly Drawn[]; x: Axis; title: string }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`Values of ${title}`}>
      <table>
        <thead>
          <tr>
            <th scope="col" class="number">
              {x}
            </th>
            {drawn.map(({ label }) => (
              <th key={label} scope="col" class="number">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {tableRows(drawn.map(({ curve }) => curve)).map((row) => (
            <tr key={row.x}>
              <td class="number">{x === "time" ? format.clock(row.x) : format.number(row.x)}</td>
              {row.y.map((y, i) => (
                <td key={drawn[i]!.label} class="number">
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
