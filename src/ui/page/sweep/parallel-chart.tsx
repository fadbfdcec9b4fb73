// Parallel coordinates: an axis for each parameter, the objective last, a line for each trial, the best ones strong.
import type { StudyPage, TrialRow } from "../../wire.ts";
import * as format from "../format.ts";
import { useWidth } from "../parts/width.ts";
import { ranked } from "./ranked.ts";

interface Props {
  readonly study: StudyPage;
  readonly lit: number | null;
  readonly choose: (number: number | null) => void;
}

interface Axis {
  readonly name: string;
  /** From 0, the lower end, to 1. */
  readonly position: (trial: TrialRow) => number | undefined;
  readonly ends: readonly [low: string, high: string];
}

/** Of an axis: names next to each other can be read. */
const LEAST_WIDTH = 110;
const HEIGHT = 300;
const [TOP, BOTTOM, SIDE] = [36, 26, 70];

export function ParallelChart({ study, lit, choose }: Props) {
  const trials = ranked(study);
  const axes = axesOf(study, trials);
  const { ref, width } = useWidth(LEAST_WIDTH * axes.length);
  if (trials.length === 0 || axes.length < 2)
    return (
      <div ref={ref}>
        <p class="soft">No trial has a result yet.</p>
      </div>
    );
  const x = (i: number): number => SIDE + ((width - 2 * SIDE) * i) / (axes.length - 1);
  const y = (part: number): number => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * part;
  // The best are drawn last, over the others.
  return (
    <div ref={ref} class="scroll" tabIndex={0} role="region" aria-label="Parameters of the trials">
      <svg
        class="plot parallel"
        viewBox={`0 0 ${width} ${HEIGHT}`}
        style={{ width: `${width}px` }}
        role="img"
        aria-label={`Parameters of ${format.count(trials.length, "trial")}; the table below has the values`}
      >
        {trials.toReversed().map((trial) => {
          const rank = trials.indexOf(trial) / Math.max(1, trials.length - 1);
          const points = axes.flatMap(({ position }, i) => {
            const part = position(trial);
            return part === undefined ? [] : [`${x(i)},${y(part)}`];
          });
          return (
            <polyline
              key={trial.number}
              class={lit === trial.number ? "lit" : undefined}
              points={points.join(" ")}
              style={{ opacity: lit === trial.number ? 1 : 0.15 + 0.75 * (1 - rank) ** 2 }}
              onMouseEnter={() => choose(trial.number)}
              onMouseLeave={() => choose(null)}
            />
          );
        })}
        {axes.map(({ name, ends }, i) => (
          <g key={name}>
            <line class="upright" x1={x(i)} x2={x(i)} y1={TOP} y2={HEIGHT - BOTTOM} />
            <text class="title" x={x(i)} y={16} text-anchor="middle">
              {name}
            </text>
            <text x={x(i)} y={TOP - 5} text-anchor="middle">
              {ends[1]}
            </text>
            <text x={x(i)} y={HEIGHT - 8} text-anchor="middle">
              {ends[0]}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}

function axesOf({ parameters, objectives }: StudyPage, trials: readonly TrialRow[]): Axis[] {
  const numeric = (name: string, log: boolean, read: (trial: TrialRow) => unknown): Axis => {
    const scale = (value: unknown): number | undefined =>
      typeof value !== "number" || (log && value <= 0) ? undefined : log ? Math.log(value) : value;
    const all = trials.flatMap((trial) => scale(read(trial)) ?? []);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const back = (value: number): string => format.number(log ? Math.exp(value) : value);
    return {
      name,
      position: (trial) => {
        const value = scale(read(trial));
        return value === undefined ? undefined : high > low ? (value - low) / (high - low) : 0.5;
      },
      ends: [back(low), back(high)],
    };
  };
  const choice = (name: string, choices: readonly string[]): Axis => ({
    name,
    position: ({ params }) => {
      const at = choices.indexOf(String(params[name]));
      return at < 0 ? undefined : choices.length > 1 ? at / (choices.length - 1) : 0.5;
    },
    ends: [choices[0] ?? "", choices.at(-1) ?? ""],
  });
  const { metric } = objectives[0]!;
  return [
    ...parameters.map(({ name, scale, choices }) =>
      scale === "choice"
        ? choice(name, choices ?? [...new Set(trials.map(({ params }) => String(params[name])))].sort())
        : numeric(name, scale === "log", ({ params }) => params[name]),
    ),
    numeric(metric, false, ({ result }) => result[metric]),
  ];
}
