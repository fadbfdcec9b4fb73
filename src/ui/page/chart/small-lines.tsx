// A chart of few points that are known already, as SVG: lines, or dots alone.
import * as format from "../format.ts";
import { useWidth } from "../parts/width.ts";
import { lineColor, theme } from "./theme.ts";

interface SmallLine {
  readonly name: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

interface Props {
  readonly label: string;
  readonly lines: readonly SmallLine[];
  readonly unit?: (value: number) => string;
  /** Whether the axis begins at zero. Default true. */
  readonly zero?: boolean;
}

const LEAST_WIDTH = 200;
const HEIGHT = 200;
const LEFT = 64;
const BOTTOM = 24;
const TOP = 8;

/** Round numbers between two values. */
export function ticks(min: number, max: number, most: number): number[] {
  const span = max - min || Math.abs(max) || 1;
  const raw = span / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= raw)!;
  const first = Math.ceil(min / step) * step;
  return Array.from({ length: Math.floor((max - first) / step + 1e-9) + 1 }, (_, i) =>
    Number((first + i * step).toPrecision(12)),
  );
}

export function SmallLines({ label, lines, unit = format.tick, zero = true }: Props) {
  void theme.value;
  const { ref, width } = useWidth(LEAST_WIDTH);
  const all = lines.flatMap(({ points }) => points);
  if (all.length === 0) return <div ref={ref} />;
  const xs = all.map(({ x }) => x);
  const ys = all.map(({ y }) => y);
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const [y0, y1] = [Math.min(...(zero ? [0] : []), ...ys), Math.max(...ys) || 1];
  const px = (x: number): number => LEFT + ((width - LEFT - 8) * (x - x0)) / (x1 - x0 || 1);
  const py = (y: number): number => TOP + ((HEIGHT - TOP - BOTTOM) * (y1 - y)) / (y1 - y0 || 1);
  return (
    <figure class="small-lines">
      <div class="legend">
        {lines.map(({ name }, i) => (
          <span key={name}>
            <i style={{ background: lineColor(i) }} />
            {name}
          </span>
        ))}
      </div>
      <div ref={ref}>
        <svg
          viewBox={`0 0 ${width} ${HEIGHT}`}
          role="img"
          aria-label={`${label}: ${lines.map(({ name, points }) => `${name}, last ${unit(points.at(-1)?.y ?? 0)}`).join("; ")}`}
        >
          {ticks(y0, y1, 4).map((y) => (
            <g key={y}>
              <line class="rule" x1={LEFT} x2={width - 8} y1={py(y)} y2={py(y)} />
              <text x={LEFT - 8} y={py(y) + 4} text-anchor="end">
                {unit(y)}
              </text>
            </g>
          ))}
          {ticks(x0, x1, 6).map((x) => (
            <text key={x} x={px(x)} y={HEIGHT - 6} text-anchor="middle">
              {format.tick(x)}
            </text>
          ))}
          {lines.map(({ name, points }, i) => (
            <polyline
              key={name}
              points={points.map(({ x, y }) => `${px(x).toFixed(1)},${py(y).toFixed(1)}`).join(" ")}
              style={{ stroke: lineColor(i) }}
            />
          ))}
        </svg>
      </div>
    </figure>
  );
}
