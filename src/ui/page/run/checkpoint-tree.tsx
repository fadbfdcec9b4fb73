// Checkpoints as a tree over the run's steps: a line for each run that wrote some, branches where a parent is another's.
import type { CheckpointRow } from "../../wire.ts";
import * as format from "../format.ts";
import { ticks } from "../chart/small-lines.tsx";
import { useWidth } from "../parts/width.ts";

interface TreeProps {
  readonly rows: readonly CheckpointRow[];
  /** The run of the page: its line is the first. */
  readonly run: string;
  readonly best: string | undefined;
  readonly chosen: string | null;
  readonly choose: (name: string) => void;
}

/** Narrower than this, marks of checkpoints would lie on each other. */
const LEAST_WIDTH = 300;
const LANE = 34;
const LEFT = 74;

export function CheckpointTree({ rows, run, best, chosen, choose }: TreeProps) {
  const { ref, width } = useWidth(LEAST_WIDTH);
  const lanes = [run, ...new Set(rows.map((row) => row.run).filter((each) => each !== run))].filter((each) =>
    rows.some((row) => row.run === each),
  );
  const last = Math.max(1, ...rows.map(({ step }) => step));
  const x = (step: number): number => LEFT + ((width - LEFT - 20) * step) / last;
  const y = (row: CheckpointRow): number => 18 + LANE * lanes.indexOf(row.run);
  const byName = new Map(rows.map((row) => [row.name, row]));
  // All that a part of a run saves has the checkpoint that it began with as its parent.
  const firsts = rows.filter(
    ({ run: own, parent, step }) =>
      !rows.some((other) => other.run === own && other.parent === parent && other.step < step),
  );
  const height = lanes.length * LANE + 28;
  return (
    <div ref={ref} class="scroll" tabIndex={0} role="region" aria-label="Checkpoints over steps">
      <svg
        class="tree"
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`${format.count(rows.length, "checkpoint")} of ${format.count(lanes.length, "run")}, up to step ${format.integer(last)}`}
      >
        {lanes.map((lane, i) => (
          <g key={lane}>
            <text x={LEFT - 12} y={22 + LANE * i} text-anchor="end">
              {lane.slice(0, 8)}
            </text>
            <line class="rule" x1={LEFT} x2={width - 20} y1={18 + LANE * i} y2={18 + LANE * i} />
          </g>
        ))}
        {firsts.map((row) => {
          const parent = row.parent === null ? undefined : byName.get(row.parent);
          if (!parent) return null;
          const bend = (x(parent.step) + x(row.step)) / 2;
          return (
            <path
              key={row.name}
              d={`M${x(parent.step)} ${y(parent)}C${bend} ${y(parent)} ${bend} ${y(row)} ${x(row.step)} ${y(row)}`}
            />
          );
        })}
        {rows.map((row) => (
          <g
            key={row.name}
            class={`node${row.name === best ? " best" : ""}${row.name === chosen ? " chosen" : ""}`}
            onClick={() => choose(row.name)}
          >
            <title>{`${row.name}, step ${format.integer(row.step)}`}</title>
            <path d={`M${x(row.step) - 7} ${y(row)}l7 -7l7 7l-7 7z`} />
          </g>
        ))}
        {ticks(0, last, Math.min(8, Math.floor(width / 70))).map((step) => (
          <text key={step} x={x(step)} y={height - 4} text-anchor="middle">
            {format.tick(step)}
          </text>
        ))}
      </svg>
    </div>
  );
}
