// The objective of every trial, and the best so far as a line. Trials that a person has changed are hollow.
import type { StudyPage } from "../../wire.ts";
import { ticks } from "../chart/small-lines.tsx";
import * as format from "../format.ts";
import { useWidth } from "../parts/width.ts";

interface Props {
  readonly study: StudyPage;
  readonly lit: number | null;
  readonly choose: (number: number | null) => void;
}

const LEAST_WIDTH = 240;
const HEIGHT = 220;
const LEFT = 58;
const BOTTOM = 24;

export function ObjectiveChart({ study, lit, choose }: Props) {
  const { ref, width } = useWidth(LEAST_WIDTH);
  const { metric, mode } = study.objectives[0]!;
  const trials = study.trials.filter(({ result }) => Number.isFinite(result[metric]));
  if (trials.length === 0)
    return (
      <div ref={ref}>
        <p class="soft">No trial has a result yet.</p>
      </div>
    );
  const values = trials.map(({ result }) => result[metric]!);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const last = Math.max(1, ...trials.map(({ number }) => number));
  const x = (number: number): number => LEFT + 6 + ((width - LEFT - 18) * number) / last;
  const y = (value: number): number => 10 + ((HEIGHT - BOTTOM - 20) * (high - value)) / (high - low || 1);
  const better = mode === "min" ? Math.min : Math.max;
  let best = mode === "min" ? Infinity : -Infinity;
  const steps = [...trials]
    .sort((a, b) => a.number - b.number)
    .map(({ number, result }) => {
      const before = best;
      best = better(best, result[metric]!);
      return Number.isFinite(before) ? `H${x(number)}V${y(best)}` : `M${x(number)} ${y(best)}`;
    });
  return (
    <div ref={ref}>
      <svg
        class="plot"
        viewBox={`0 0 ${width} ${HEIGHT}`}
        role="img"
        aria-label={`${metric} of ${format.count(trials.length, "trial")}, best ${format.number(best)}`}
      >
        {ticks(low, high, 5).map((value) => (
          <g key={value}>
            <line class="rule" x1={LEFT} x2={width - 6} y1={y(value)} y2={y(value)} />
            <text x={LEFT - 8} y={y(value) + 4} text-anchor="end">
              {format.tick(value)}
            </text>
          </g>
        ))}
        {ticks(0, last, 6)
          .filter(Number.isInteger)
          .map((number) => (
            <text key={number} x={x(number)} y={HEIGHT - 6} text-anchor="middle">
              {number}
            </text>
          ))}
        <path class="best" d={steps.join("")} />
        {trials.map(({ number, result, status, touched }) => (
          <circle
            key={number}
            class={`trial ${status}${touched ? " touched" : ""}${lit === number ? " lit" : ""}`}
            cx={x(number)}
            cy={y(result[metric]!)}
            r={lit === number ? 6 : 4}
            onMouseEnter={() => choose(number)}
            onMouseLeave={() => choose(null)}
          >
            <title>{`trial ${number}: ${format.number(result[metric])}, ${status}`}</title>
          </circle>
        ))}
      </svg>
    </div>
  );
}
