// Curves of a run over its steps, as a picture; the vertical axis is logarithmic.
import { linearAxis, logAxis } from "../../src/tune/report/axis.ts";
import { escaped, px, svg } from "./svg.ts";

interface Curve {
  readonly name: string;
  readonly color: string;
  readonly steps: ArrayLike<number>;
  readonly values: ArrayLike<number>;
  /** Few points are marked. */
  readonly marked?: boolean;
}

const [WIDTH, HEIGHT] = [720, 320];
const [LEFT, RIGHT, TOP, BOTTOM] = [56, 16, 40, 40];

export function curveSvg(title: string, curves: readonly Curve[]): string {
  const values = curves.flatMap(({ values }) => Array.from(values));
  const last = Math.max(...curves.map(({ steps }) => steps[steps.length - 1]!));
  const x = linearAxis(0, last);
  const y = logAxis(Math.min(...values), Math.max(...values));
  const across = (at: number): number => LEFT + at * (WIDTH - LEFT - RIGHT);
  const up = (at: number): number => HEIGHT - BOTTOM - at * (HEIGHT - TOP - BOTTOM);
  const drawn = curves.flatMap(({ color, steps, values, marked }) => {
    const points = Array.from(values, (value, i) => [across(x.place(steps[i]!)), up(y.place(value))] as const);
    const path = points.map(([a, b]) => `${px(a)},${px(b)}`).join(" ");
    return [
      `<polyline points="${path}" fill="none" stroke="${color}" stroke-width="${marked ? 2 : 1.2}"/>`,
      ...(marked ? points.map(([a, b]) => `<circle cx="${px(a)}" cy="${px(b)}" r="3.5" fill="${color}"/>`) : []),
    ];
  });
  const legend = curves.map(
    ({ name, color }, i) =>
      `<text x="${px(WIDTH - RIGHT - 110 * (curves.length - 1 - i))}" y="24" fill="${color}" text-anchor="end">${escaped(name)}</text>`,
  );
  return svg(WIDTH, HEIGHT, title, [
    `<rect width="${WIDTH}" height="${HEIGHT}" rx="8" fill="#ffffff"/>`,
    `<g font-family="system-ui, sans-serif" font-size="13">`,
    `<text x="${LEFT}" y="24" fill="#1f2328" font-weight="600">${escaped(title)}</text>`,
    ...y.ticks.flatMap(({ at, text }) => [
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${px(up(at))}" y2="${px(up(at))}" stroke="#d8dee4"/>`,
      `<text x="${LEFT - 8}" y="${px(up(at) + 4)}" fill="#59636e" text-anchor="end">${text}</text>`,
    ]),
    ...x.ticks.map(
      ({ at, text }) =>
        `<text x="${px(across(at))}" y="${HEIGHT - BOTTOM + 20}" fill="#59636e" text-anchor="middle">${text}</text>`,
    ),
    `<text x="${WIDTH - RIGHT}" y="${HEIGHT - 6}" fill="#59636e" text-anchor="end">step</text>`,
    ...legend,
    ...drawn,
    "</g>",
  ]);
}
